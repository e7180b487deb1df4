"""Labels for the nodes of networks with cycles."""
