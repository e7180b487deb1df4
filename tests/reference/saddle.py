"""Saddle-point methods as the papers print them, on dense blocks; all sums in plain numpy.

L(w, z) = alpha/2 |w|^2 + sum_i omega_i (F_i^T w + c_i) . (z_i - y_i), w in a set, z_i in hulls of
vertices. Distances are |w|^2 / ratio + sum_i omega_i |z_i|^2, so that a step of length eta adds
eta (F_i^T w + c_i) to z_i and -eta ratio dL/dw to w.
"""

import numpy as np

from reference.enumeration import nearest_in_hull


class Saddle:
    """The problem: gradients, and steps with projections."""

    def __init__(self, training, weights, ratio):
        self.training, self.weights, self.ratio = training, weights, ratio
        self.blocks = training.blocks
        self.omega = np.array([b.weight for b in self.blocks])

    def start(self):
        return np.zeros(self.training.dim), [b.truth.copy() for b in self.blocks]

    def loss_gradient(self, z):
        """g(z) = sum_i omega_i F_i (z_i - y_i)."""
        pairs = zip(self.blocks, z, strict=True)
        return sum(b.weight * (b.matrix @ (p - b.truth)) for b, p in pairs)

    def gradient_w(self, w, z):
        return self.training.alpha * w + self.loss_gradient(z)

    def gradient_z(self, w):
        return [b.matrix.T @ w + b.costs for b in self.blocks]

    def step_w(self, w, slope, eta):
        return self.weights.project(w - eta * self.ratio * slope)

    def step_z(self, z, slope, eta):
        return [
            nearest_in_hull(p + eta * s, b.vertices)
            for b, p, s in zip(self.blocks, z, slope, strict=True)
        ]

    def length(self, w, z):
        """The square of the norm of (w, z)."""
        return w @ w / self.ratio + sum(o * (p @ p) for o, p in zip(self.omega, z, strict=True))

    def dual_length(self, gradient_w, gradient_z):
        """The square of the dual norm of a change of gradients; those in z without omega."""
        rest = sum(o * (s @ s) for o, s in zip(self.omega, gradient_z, strict=True))
        return gradient_w @ gradient_w * self.ratio + rest

    def lower(self, z):
        """The minimum of L(., z)."""
        pairs = zip(self.blocks, z, strict=True)
        loss = sum(b.weight * (b.costs @ (p - b.truth)) for b, p in pairs)
        return self.weights.lowest(self.loss_gradient(z), self.training.alpha) + loss

    def gap(self, w, z):
        """max L(w, .) - min L(., z)."""
        return self.training.primal(w) - self.lower(z)


def minus(a, b):
    return [x - y for x, y in zip(a, b, strict=True)]


def extragradient(saddle, eta, epochs, nu=None):
    """(w, z, eta) after each epoch. With nu, the rule of the papers for eta, which grows by half
    where there is room."""
    w, z = saddle.start()
    for _ in range(epochs):
        while True:
            slope, rise = saddle.gradient_w(w, z), saddle.gradient_z(w)
            v, x = saddle.step_w(w, slope, eta), saddle.step_z(z, rise, eta)
            change = saddle.dual_length(
                slope - saddle.gradient_w(v, x), minus(rise, saddle.gradient_z(v))
            )
            moved = saddle.length(v - w, minus(x, z))
            r = eta * np.sqrt(change / moved) if moved > 0 else 0.0
            if nu is None or r <= nu:
                break
            eta *= 2 / 3 * min(1.0, 1.0 / r)
        w, z = (
            saddle.step_w(w, saddle.gradient_w(v, x), eta),
            saddle.step_z(z, saddle.gradient_z(v), eta),
        )
        if nu is not None and r < 0.4 and moved > 0:
            eta *= 1.5
        yield w, z, eta


def dual_extragradient(saddle, eta, epochs, past=False):
    """(average w, average z, last w) after each epoch: figure 2, all of s kept.

    past: the look-ahead uses the gradient at the last u instead of one at v.
    """
    start_w, start_z = saddle.start()
    s_w, s_z = np.zeros_like(start_w), [np.zeros_like(p) for p in start_z]
    path, last = [], (start_w, start_z)
    for _ in range(epochs):
        if past:
            slope, rise = saddle.gradient_w(*last), saddle.gradient_z(last[0])
            u_w = saddle.step_w(start_w, s_w + slope, eta)
            u_z = saddle.step_z(start_z, [s + r for s, r in zip(s_z, rise, strict=True)], eta)
        else:
            v_w, v_z = saddle.step_w(start_w, s_w, eta), saddle.step_z(start_z, s_z, eta)
            u_w = saddle.step_w(v_w, saddle.gradient_w(v_w, v_z), eta)
            u_z = saddle.step_z(v_z, saddle.gradient_z(v_w), eta)
        s_w = s_w + saddle.gradient_w(u_w, u_z)
        s_z = [s + r for s, r in zip(s_z, saddle.gradient_z(u_w), strict=True)]
        last = u_w, u_z
        path.append(last)
        yield (*average(path), u_w)


def average(path):
    """Of points (w, z), each counting the same."""
    w = np.mean([w for w, _ in path], axis=0)
    return w, [np.mean(parts, axis=0) for parts in zip(*(z for _, z in path), strict=True)]


def frugal_dual_extragradient(training, weights, eta, epochs):
    """Average w after each epoch: figure 6, sample by sample, for alpha = 0 and equal omega.

    As printed, L is a sum over samples and not a mean.
    """
    average_w, s_w = np.zeros(training.dim), np.zeros(training.dim)
    start_w = np.zeros(training.dim)
    for t in range(epochs):
        v_w, r_w = weights.project(start_w + eta * s_w), np.zeros(training.dim)
        for b in training.blocks:
            s_i = t * (b.matrix.T @ average_w + b.costs)
            v_i = nearest_in_hull(b.truth + eta * s_i, b.vertices)
            r_w += b.matrix @ (b.truth - v_i)
            u_i = nearest_in_hull(v_i + eta * (b.matrix.T @ v_w + b.costs), b.vertices)
            s_w = s_w + b.matrix @ (b.truth - u_i)
        average_w = (t * average_w + weights.project(v_w + eta * r_w)) / (t + 1)
        yield average_w


class EntropicSaddle(Saddle):
    """w = radius (v+ - v-) in an l1 ball; w is stepped by multiplying v by exponentials.

    A point of W is the whole vector (v0, v+, v-) here.
    """

    def start(self):
        d = self.training.dim
        return np.full(2 * d + 1, 1.0 / (2 * d + 1)), super().start()[1]

    def visible(self, v):
        d = self.training.dim
        return self.weights.radius * (v[1 : d + 1] - v[d + 1 :])

    def step_w(self, v, slope, eta):
        gain = -eta * self.ratio * self.weights.radius * slope
        raised = v * np.exp(np.concatenate([[0.0], gain, -gain]))
        return raised / raised.sum()

    def gradient_w(self, v, z):
        return super().gradient_w(self.visible(v), z)

    def gradient_z(self, v):
        return super().gradient_z(self.visible(v))


def entropic_dual_extragradient(saddle, eta, epochs):
    """(average w, average z, last w); the average of v is that of w, since w is linear in v."""
    start_v, start_z = saddle.start()
    s_w, s_z = np.zeros(saddle.training.dim), [np.zeros_like(p) for p in start_z]
    path = []
    for _ in range(epochs):
        v_w, v_z = saddle.step_w(start_v, s_w, eta), saddle.step_z(start_z, s_z, eta)
        u_w = saddle.step_w(v_w, saddle.gradient_w(v_w, v_z), eta)
        u_z = saddle.step_z(v_z, saddle.gradient_z(v_w), eta)
        s_w = s_w + saddle.gradient_w(u_w, u_z)
        s_z = [s + r for s, r in zip(s_z, saddle.gradient_z(u_w), strict=True)]
        path.append((saddle.visible(u_w), u_z))
        yield (*average(path), path[-1][0])


def projected_gradient(saddle, eta, epochs, decay):
    """(average w, average z) after each epoch, each point counting as much as its step was long."""
    w, z = saddle.start()
    path, lengths = [], []
    for t in range(1, epochs + 1):
        step = eta / np.sqrt(t) if decay else eta
        w, z = (
            saddle.step_w(w, saddle.gradient_w(w, z), step),
            saddle.step_z(z, saddle.gradient_z(w), step),
        )
        path.append((w, z))
        lengths.append(step)
        shares = np.array(lengths) / sum(lengths)
        yield (
            sum(s * w for s, (w, _) in zip(shares, path, strict=True)),
            [shares @ np.array(parts) for parts in zip(*(z for _, z in path), strict=True)],
        )
