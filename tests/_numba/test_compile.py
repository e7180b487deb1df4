"""Kernels are compiled when they are first needed, once, whoever needs them."""

import os
import pickle
import subprocess
import sys
import threading
from collections import namedtuple
from typing import NamedTuple

import numpy as np
import pytest

from maxmargin._numba import disk_cache, simplex
from maxmargin._numba.arrays import copy_values, largest_value
from maxmargin._numba.compile import (
    FLOATS,
    SHORTS,
    compile_inlined,
    compile_internal,
    compiled_function,
    tuple_type,
    types,
)
from maxmargin._numba.dispatchers import numba_type


@compiled_function(types.int64(types.int64))
def factorial(n):
    return 1 if n < 2 else n * factorial(n - 1)


@compile_inlined
def twice(x):
    return 2.0 * x


@compile_internal(types.float64(types.float64))
def quadruple(x):
    return twice(twice(x))


@compiled_function(types.float64(types.float64))
def calling(x):
    return quadruple(x) + 1.0


def test_a_compiled_function_may_call_itself():
    assert factorial(10) == 3_628_800


def test_what_a_function_calls_is_compiled_with_it(tmp_path, monkeypatch):
    monkeypatch.setattr(disk_cache.config, "CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(disk_cache, "_prepare_folder", disk_cache._prepare_folder.__wrapped__)
    assert calling(3.0) == 13.0
    assert quadruple.made is not None
    assert {path.name.split("-")[0] for path in (tmp_path / "compiled").iterdir()} == {
        "_numba.test_compile.calling",
        "_numba.test_compile.quadruple",
    }


def test_threads_that_need_a_function_at_once_get_the_same():
    fresh = compiled_function(types.int64(types.int64))(abs_of)
    barrier, found = threading.Barrier(8), []

    def work():
        barrier.wait()
        found.append((fresh(-3), fresh.dispatcher))

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [(3, fresh.dispatcher)] * 8


def abs_of(x):
    return x if x >= 0 else -x


def test_compiled_functions_are_pickled_by_name():
    assert pickle.loads(pickle.dumps(simplex.maximize)) is simplex.maximize


def test_an_error_of_compiling_comes_up_at_each_call():
    wrong = compiled_function(types.int64(types.int64))(lambda x: x.no_such_thing)
    for _ in range(2):
        with pytest.raises(Exception, match="no_such_thing"):
            wrong(1)


def test_without_compiling_functions_are_python():
    code = (
        "from maxmargin._numba.compile import compiled_function, types\n"
        "f = compiled_function(types.int64(types.int64))(lambda x: x + 1)\n"
        "assert f(1) == 2 and f.dispatcher is f.function"
    )
    environment = {**os.environ, "NUMBA_DISABLE_JIT": "1"}
    assert (
        subprocess.run([sys.executable, "-c", code], env=environment, check=False).returncode == 0
    )


def sum_of_copy(values):
    return values.copy().sum()


def test_only_functions_that_say_so_make_arrays():
    allowed = compiled_function(types.float64(FLOATS), allocates=True)(sum_of_copy)
    assert allowed(np.arange(4.0)) == 6.0
    with pytest.raises(Exception, match="NRT required but not enabled"):
        compiled_function(types.float64(FLOATS))(sum_of_copy).compile()


@compiled_function(types.float64(FLOATS, FLOATS))
def copy_and_compare(values, out):
    copy_values(values, out[: len(values)])
    return largest_value(values)


def test_copies_and_maxima_make_no_arrays():
    values, out = np.array([1.0, 3.0, 2.0]), np.zeros(5)
    before = sys.getrefcount(values), sys.getrefcount(out)
    assert copy_and_compare(values, out) == 3.0
    assert copy_and_compare(values[:0], out) == -np.inf
    assert out.tolist() == [1.0, 3.0, 2.0, 0.0, 0.0]
    assert (sys.getrefcount(values), sys.getrefcount(out)) == before


class Inner(NamedTuple):
    low: np.ndarray
    high: np.ndarray


class Outer(NamedTuple):
    values: np.ndarray
    places: np.ndarray
    inner: Inner


INNER = tuple_type(Inner, {"low": FLOATS, "high": FLOATS})
OUTER = tuple_type(Outer, {"values": FLOATS, "places": SHORTS, "inner": INNER})


@compile_internal(types.void(INNER, types.float64))
def write_ends(inner, value):
    inner.low[0] = value
    inner.high[len(inner.high) - 1] = value


@compiled_function(types.float64(OUTER))
def visit(outer):
    write_ends(outer.inner, 7.0)
    write_ends(Inner(outer.values[:1], outer.values[1:3]), 5.0)
    write_ends(Inner(outer.inner.high, outer.inner.low), 6.0)
    return outer.values[outer.places[0]]


def outer_tuple(dtype=np.int32):
    values = np.arange(4.0)
    return Outer(values, np.array([3], dtype=dtype), Inner(np.zeros(2), np.zeros(3)))


def test_tuples_reach_compiled_functions_by_reference():
    outer = outer_tuple()
    assert visit(outer) == 3.0
    assert outer.values.tolist() == [5.0, 1.0, 5.0, 3.0]
    assert outer.inner.low.tolist() == [7.0, 6.0]
    assert outer.inner.high.tolist() == [6.0, 0.0, 7.0]


@pytest.mark.parametrize(
    "wrong",
    [
        outer_tuple(np.int64),
        outer_tuple()._replace(values=np.zeros((2, 2))),
        outer_tuple()._replace(values=np.zeros(8)[::2]),
        outer_tuple()._replace(values=None),
        outer_tuple()._replace(inner=outer_tuple()),
        tuple(outer_tuple()),
    ],
)
def test_other_tuples_do_not_reach_compiled_functions(wrong):
    with pytest.raises(TypeError):
        visit(wrong)


def test_tuples_of_one_name_and_other_fields_are_other_types():
    other = namedtuple("Inner", ("high", "low"))
    other.__module__ = Inner.__module__
    changed = tuple_type(other, {"low": FLOATS, "high": FLOATS})
    assert numba_type(changed) != numba_type(INNER)


def test_tuples_by_reference_hold_plain_arrays_before_tuples():
    pair = namedtuple("pair", ("a", "b"))
    for kinds in ({"a": INNER, "b": FLOATS}, {"a": FLOATS, "b": types.Array(types.int8, 2, "C")}):
        with pytest.raises(TypeError, match="plain array"):
            numba_type(tuple_type(pair, kinds))
