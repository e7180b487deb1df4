"""Large functions are called by their callers, not copied; which process compiled them is one."""

import os
import subprocess
import sys

import pytest

#: `big` is too large to be copied into its callers, `small` is not
SOURCE = """
from maxmargin._numba.compile import FLOATS, compile_internal, compiled_function, types

@compile_internal(types.float64(types.float64))
def small(x):
    return x + 1.0

@compile_internal(types.float64(FLOATS, types.float64))
def big(v, x):
    total = 0.0
    for a in range(len(v)):
        for b in range(len(v)):
            total += v[a] * v[b] * x if v[a] > v[b] else v[a] / (v[b] + 3.0)
    for a in range(len(v) - 2):
        total = max(total, v[a] * v[a + 1] * v[a + 2] + x)
        v[a] = total
    return total

@compiled_function(types.float64(FLOATS, types.float64))
def caller(v, x):
    return small(big(v, x))

@compiled_function(types.float64(FLOATS, types.float64))
def other(v, x):
    return big(v, x) - small(x)
"""
SCRIPT = """
import sys
import numpy as np
from maxmargin._numba import disk_cache
import linked
disk_cache._SMALL = 30
for name in sys.argv[1:]:
    getattr(linked, name).compile()
v = np.linspace(-1.0, 2.0, 7)
print(repr(float(linked.caller(v.copy(), 0.1))), repr(float(linked.other(v.copy(), 0.1))))
shared = linked.big.made.overloads.values()
print([len(list(c.library._get_module_for_linking().functions)) for c in shared])
"""


@pytest.fixture
def run(tmp_path):
    (tmp_path / "linked.py").write_text(SOURCE, encoding="utf-8")
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path / "cache")}
    folders = [str(tmp_path), environment.get("PYTHONPATH", "")]
    environment["PYTHONPATH"] = os.pathsep.join(filter(None, folders))

    def run(*names):
        command = [sys.executable, "-c", SCRIPT, *names]
        ran = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
        return ran.stdout

    return run


def test_functions_find_callees_that_other_processes_compiled(run, tmp_path):
    expected = run("caller", "other")
    assert expected.splitlines()[1] == "[0]"
    compiled = tmp_path / "cache" / "compiled"
    assert len(list(compiled.iterdir())) == 4
    assert run() == expected  # all from disk
    (big,) = compiled.glob("linked.big-*")
    big.unlink()
    assert run("other") == expected  # callers from disk, the callee compiled anew
    for path in compiled.iterdir():
        path.unlink()
    assert run("big", "small", "other") == expected  # in another order
