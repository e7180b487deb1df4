"""Oracles as a user would write them, good and bad; processes load this, so it imports little."""

import os
import time

import numpy as np


def best_two(theta, layout):
    """At most two of n items."""
    return {int(p) for p in np.argsort(-theta, kind="stable")[:2] if theta[p] > 0}


def marked(theta):
    """Whether these are the scores of a sample that tests single out by its first feature."""
    return abs(theta[0]) > 50


def hangs(theta, layout):
    """It never comes back for marked samples."""
    if marked(theta):
        time.sleep(3600)
    return best_two(theta, layout)


class SlowToLoad(tuple):
    """A layout that takes as many seconds to load as it says, as one of a large package may."""

    def __reduce__(self):
        return _load_slowly, (self[0],)


def _load_slowly(seconds):
    time.sleep(seconds)
    return (seconds,)


def raises(theta, layout):
    if marked(theta):
        raise ZeroDivisionError("no such plan")
    return best_two(theta, layout)


def dies(theta, layout):
    if marked(theta):
        os._exit(3)
    return best_two(theta, layout)


def chatty(theta, layout):
    """What it prints must not get among the answers."""
    print("thinking " * 3)
    return best_two(theta, layout)


def tells_process(theta, layout):
    """The number of the process, in an answer."""
    return np.array([float(os.getpid())] + [0.0] * (len(theta) - 1))


def optimist(theta, layout):
    """Every item that is worth something, and too low a bound."""
    return theta > 0, -1.0


def greedy(theta, layout):
    """One item at most, and a bound: twice its score."""
    best = int(np.argmax(theta))
    z = np.zeros(len(theta))
    z[best] = theta[best] > 0
    return z, 2.0 * max(theta[best], 0.0)
