"""Dual extragradient with entropic steps in z, over all outputs: a distribution for each sample."""

import numpy as np
from scipy.special import logsumexp

from reference.saddle import EntropicSaddle, Saddle, average


class MarginalSaddle(Saddle):
    """z_i is kept as the logs of the probabilities of all outputs; `height`, see the package."""

    height = 0.0

    def start(self):
        logs = [self.height * (b.vertices @ b.truth) for b in self.blocks]
        return super().start()[0], [p - logsumexp(p) for p in logs]

    def points(self, logs):
        return [np.exp(p) @ b.vertices for b, p in zip(self.blocks, logs, strict=True)]

    def loss_gradient(self, logs):
        return super().loss_gradient(self.points(logs))

    def step_z(self, logs, slope, eta):
        raised = [
            p + eta * (b.vertices @ s) for b, p, s in zip(self.blocks, logs, slope, strict=True)
        ]
        return [p - logsumexp(p) for p in raised]


class DoublyEntropicSaddle(MarginalSaddle, EntropicSaddle):
    """The same with entropic steps in w."""

    def start(self):
        return EntropicSaddle.start(self)[0], MarginalSaddle.start(self)[1]


def marginal_dual_extragradient(saddle, steps, past=False):
    """(average w, average z, last w) after each of the steps, each u counting as its step.

    past: the look-ahead uses the gradient at the last u instead of one at v.
    """
    start_w, start_z = saddle.start()
    visible = getattr(saddle, "visible", lambda w: w)
    s_w, s_z = np.zeros(saddle.training.dim), [np.zeros(b.truth.shape) for b in saddle.blocks]
    path, last = [], (start_w, start_z)
    for eta in steps:
        if past:
            u_w = saddle.step_w(start_w, s_w + eta * saddle.gradient_w(*last), 1.0)
            rise = [s + eta * r for s, r in zip(s_z, saddle.gradient_z(last[0]), strict=True)]
            u_z = saddle.step_z(start_z, rise, 1.0)
        else:
            v_w, v_z = saddle.step_w(start_w, s_w, 1.0), saddle.step_z(start_z, s_z, 1.0)
            u_w = saddle.step_w(v_w, saddle.gradient_w(v_w, v_z), eta)
            u_z = saddle.step_z(v_z, saddle.gradient_z(v_w), eta)
        s_w = s_w + eta * saddle.gradient_w(u_w, u_z)
        s_z = [s + eta * r for s, r in zip(s_z, saddle.gradient_z(u_w), strict=True)]
        last = u_w, u_z
        path += [(visible(u_w), saddle.points(u_z))]
        yield (*weighted(path, steps[: len(path)]), path[-1][0])


def weighted(path, steps):
    """Of points (w, z), each counting as its step."""
    if len(set(steps)) == 1:
        return average(path)
    shares = np.array(steps) / np.sum(steps)
    z = [np.tensordot(shares, np.array(p), 1) for p in zip(*(z for _, z in path), strict=True)]
    return sum(s * w for s, (w, _) in zip(shares, path, strict=True)), z
