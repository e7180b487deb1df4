"""Kernels are compiled when they are first needed, once, whoever needs them."""

import os
import pickle
import subprocess
import sys
import threading

import numpy as np
import pytest

from maxmargin._numba import disk_cache, simplex
from maxmargin._numba.arrays import copy_values, largest_value
from maxmargin._numba.compile import (
    FLOATS,
    compile_inlined,
    compile_internal,
    compiled_function,
    types,
)


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


def test_estimators_are_imported_without_numba():
    code = "import sys, maxmargin.estimators; sys.exit('numba' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_a_kernel_may_call_itself():
    assert factorial(10) == 3_628_800


def test_what_a_kernel_calls_is_compiled_with_it(tmp_path, monkeypatch):
    monkeypatch.setattr(disk_cache.config, "CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(disk_cache, "_prepare_folder", disk_cache._prepare_folder.__wrapped__)
    assert calling(3.0) == 13.0
    assert quadruple.made is not None
    assert {path.name.split("-")[0] for path in (tmp_path / "compiled").iterdir()} == {
        "_numba.test_compile.calling",
        "_numba.test_compile.quadruple",
    }


def test_threads_that_need_a_kernel_at_once_get_the_same():
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


def test_kernels_are_pickled_by_name():
    assert pickle.loads(pickle.dumps(simplex.maximize)) is simplex.maximize


def test_an_error_of_compiling_comes_up_at_each_call():
    wrong = compiled_function(types.int64(types.int64))(lambda x: x.no_such_thing)
    for _ in range(2):
        with pytest.raises(Exception, match="no_such_thing"):
            wrong(1)


def test_without_compiling_kernels_are_python():
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
