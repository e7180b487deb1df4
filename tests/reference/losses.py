"""Losses by their definitions, of pairs of outputs."""


def hamming(truth, guess, node_weight=None, class_weight=None, normalize=True):
    """Weights of the variables whose labels differ, the class weight being the true label's."""
    total = 0.0
    for v, (a, b) in enumerate(zip(truth, guess, strict=True)):
        if a != b:
            node = 1.0 if node_weight is None else node_weight[v]
            total += node * (1.0 if class_weight is None else class_weight[a])
    return total / len(truth) if normalize else total


def binary(truth, guess, false_positive, false_negative, node_weight=None, normalize=True):
    """Prices of parts wrongly on and wrongly off."""
    total = 0.0
    for v, (a, b) in enumerate(zip(truth, guess, strict=True)):
        node = 1.0 if node_weight is None else node_weight[v]
        if b and not a:
            total += node * false_positive
        if a and not b:
            total += node * false_negative
    return total / len(truth) if normalize else total
