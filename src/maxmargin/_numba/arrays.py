"""What numba does with whole arrays by making others, as loops that make none."""

from __future__ import annotations

import numpy as np

from maxmargin._numba.compile import compile_inlined


@compile_inlined
def copy_values(source, out):
    """Let out = source; numba's `out[:] = source` sees to arrays that overlap."""
    for k in range(len(out)):
        out[k] = source[k]


@compile_inlined
def largest_value(values):
    """-inf if there are none."""
    high = -np.inf
    for k in range(len(values)):
        high = max(high, values[k])
    return high
