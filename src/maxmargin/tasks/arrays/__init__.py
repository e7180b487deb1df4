"""Tasks on arrays in files: chain, graph, tree, network, matching, multilabel."""
