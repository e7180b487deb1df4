"""The exponential function in loops that the compiler turns into vector instructions.

The C library's exp is called once a number, at some ten times the price. This one is right to
2e-15 relative, and exactly 0 below -709, so that scores of -inf (forbidden) need no branch.
"""

from __future__ import annotations

import numpy as np
from llvmlite import ir
from numba import float64
from numba.extending import intrinsic

from maxmargin._numba.compile import FLOATS, compile_inlined, compile_internal, types

# x = n log 2 + r with |r| <= log(2) / 2, then exp(x) = 2^n p(r). The low bits of n + MAGIC, as a
# float, are the integer n + 1023: moved left they are the float 2^n, or 0 for n = -1023.
LOWEST = -1023.0 * np.log(2.0)
PER_LOG_2 = 1.4426950408889634
MAGIC = 6755399441055744.0 + 1023.0  # 1.5 * 2^52 + 1023
LOG_2_HIGH, LOG_2_LOW = 0.6931471803691238, 1.9082149292705877e-10
# (exp(r) - 1 - r) / r^2 interpolated at Chebyshev points, highest power first
C10, C9, C8 = 2.761380686153829e-07, 2.762511557828763e-06, 2.4801536388690766e-05
C7, C6, C5 = 0.00019841208732536384, 0.0013888888905881542, 0.008333333353729397
C4, C3, C2 = 0.04166666666665136, 0.1666666666664829, 0.5


@intrinsic
def _power_of_two(context, shifted):
    """2^n from the float n + MAGIC."""

    def build(target, builder, signature, args):
        bits = builder.bitcast(args[0], ir.IntType(64))
        bits = builder.shl(bits, ir.Constant(ir.IntType(64), 52))
        return builder.bitcast(bits, ir.DoubleType())

    return float64(float64), build


@compile_inlined
def exp_low(x):
    """exp(x) for x <= 700, -inf allowed; NaN stays NaN."""
    x = LOWEST if x < LOWEST else x
    shifted = x * PER_LOG_2 + MAGIC
    n = shifted - MAGIC
    r = (x - n * LOG_2_HIGH) - n * LOG_2_LOW
    p = C10 * r + C9
    p = p * r + C8
    p = p * r + C7
    p = p * r + C6
    p = p * r + C5
    p = p * r + C4
    p = p * r + C3
    p = p * r + C2
    p = p * r + 1.0
    p = p * r + 1.0
    return p * _power_of_two(shifted)


@compile_internal(types.float64(FLOATS), no_nan=True)
def largest_entry(x):
    """The largest entry; -inf if there is none."""
    high = -np.inf
    for k in range(len(x)):
        high = x[k] if x[k] > high else high
    return high


@compile_internal(types.boolean(FLOATS, types.float64, types.float64, types.float64, FLOATS))
def exp_within(x, shift, least, most, out):
    """Write exp(x - shift); returns whether all x - shift are from `least` to `most`, or -inf."""
    outside = 0
    for k in range(len(out)):
        v = x[k] - shift
        out[k] = exp_low(v)
        outside += ((v < least) & (v > -np.inf)) | (v > most)
    return outside == 0


@compile_internal(types.int64(FLOATS, types.float64))
def count_between(x, least):
    """How many entries are above 0 but below `least`."""
    count = 0
    for k in range(len(x)):
        count += (x[k] > 0.0) & (x[k] < least)
    return count
