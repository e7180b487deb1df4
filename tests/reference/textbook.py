"""The algorithms as the papers print them: a w_i for each sample, averages by adding up."""

import numpy as np


class BlockCoordinate:
    """Algorithm 4 of Lacoste-Julien et al. 2013, visiting samples in given orders."""

    def __init__(self, training, line_search=True):
        self.training, self.line_search = training, line_search
        n = len(training.blocks)
        self.w_i, self.l_i = np.zeros((n, training.dim)), np.zeros(n)
        self.steps, self.path = 0, []

    @property
    def w(self):
        return self.w_i.sum(axis=0)

    def visit(self, order):
        alpha, n = self.training.alpha, len(self.training.blocks)
        for i in order:
            block = self.training.blocks[i]
            answer = block.best(self.w)
            w_s = block.weight / alpha * (block.matrix @ (block.truth - answer))
            l_s = block.weight * (block.costs @ (answer - block.truth))
            towards = self.w_i[i] - w_s
            gap = alpha * (towards @ self.w) - self.l_i[i] + l_s
            step = 2 * n / (self.steps + 2 * n)
            if self.line_search:
                bend = alpha * (towards @ towards)
                step = float(np.clip(gap / bend, 0, 1)) if bend > 0 else 0.0
            self.w_i[i] -= step * towards
            self.l_i[i] += step * (l_s - self.l_i[i])
            self.steps += 1
            self.path.append(self.w)

    def average(self):
        """The mean of w_1 ... w_K, with weight k."""
        return np.average(self.path, axis=0, weights=np.arange(1, len(self.path) + 1))

    def dual(self):
        return self.l_i.sum() - self.training.alpha / 2 * (self.w @ self.w)


def frank_wolfe(training, epochs, line_search=True):
    """Algorithm 2 of the same: (w, l) after each epoch."""
    alpha = training.alpha
    w, loss, found = np.zeros(training.dim), 0.0, []
    for k in range(epochs):
        w_s, l_s = np.zeros(training.dim), 0.0
        for block in training.blocks:
            answer = block.best(w)
            w_s += block.weight / alpha * (block.matrix @ (block.truth - answer))
            l_s += block.weight * (block.costs @ (answer - block.truth))
        gap = alpha * ((w - w_s) @ w) - loss + l_s
        step = 2 / (k + 2)
        if line_search:
            step = float(np.clip(gap / (alpha * ((w - w_s) @ (w - w_s))), 0, 1))
        w, loss = (1 - step) * w + step * w_s, (1 - step) * loss + step * l_s
        found.append(w)
    return found


def subgradient(training, orders):
    """Pegasos: w_k = (1 - 1/k) w_{k-1} + 1/(alpha k) n omega_i psi_i; all w_k in order."""
    n, k = len(training.blocks), 0
    w, path = np.zeros(training.dim), []
    for order in orders:
        for i in order:
            k += 1
            block = training.blocks[i]
            move = n * block.weight * (block.matrix @ (block.truth - block.best(w)))
            w = (1 - 1 / k) * w + move / (training.alpha * k)
            path.append(w)
    return path


def perceptron(training, w, orders):
    """All weights on the way (one entry a visit), starting from w."""
    n, path = len(training.blocks), []
    for order in orders:
        for i in order:
            block = training.blocks[i]
            answer = block.best(w, costs=False)
            w = w + n * block.weight * (block.matrix @ (block.truth - answer))
            path.append(w)
    return path


def batch_perceptron(training, w, epochs):
    """All weights on the way (one entry an epoch), starting from w."""
    path = []
    for _ in range(epochs):
        moves = [
            b.weight * (b.matrix @ (b.truth - b.best(w, costs=False))) for b in training.blocks
        ]
        w = w + sum(moves)
        path.append(w)
    return path
