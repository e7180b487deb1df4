"""Labels for the nodes of trees and forests."""
