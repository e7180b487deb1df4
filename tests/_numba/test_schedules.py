"""Several processes compile what is not on disk yet; whatever becomes of them, all is compiled."""

import os
import subprocess
import sys
import threading

import pytest

from maxmargin._numba import disk_cache, schedules
from maxmargin._numba.compile import compile_inlined, compiled_function, types

ONE = types.float64(types.float64)


def make_functions():
    """Functions that are not compiled: `top` calls `left` and, copied into it, `right`."""

    def define(source, **known):
        space = {"__name__": __name__, **known}
        exec(source, space)
        return space["f"]

    wrap = compiled_function(ONE)
    left = wrap(define("def f(x):\n    return x + 0.25\n"))
    right = wrap(define("def f(x):\n    return x + 0.5\n"))
    middle = compile_inlined(define("def f(x):\n    return right(x)\n", right=right))
    source = "def f(x):\n    return left(x) * middle(x)\n"
    return left, right, wrap(define(source, left=left, middle=middle))


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """An empty cache, and helpers worth their start."""
    monkeypatch.setattr(disk_cache.config, "CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(disk_cache, "_prepare_folder", disk_cache._prepare_folder.__wrapped__)
    monkeypatch.setattr(schedules, "_count_helpers", lambda schedule: 2)
    return tmp_path


def take_all(schedule):
    """Take what is ready now."""
    taken = []
    while schedule._waiting and any(
        not schedule._callees[f] & schedule._unfinished for f in schedule._waiting
    ):
        taken.append(schedule.take())
    return taken


def test_callees_come_first_also_those_of_copied_functions(folder):
    left, right, top = make_functions()
    schedule = schedules.Schedule([top])
    assert len(schedule) == 3
    assert set(take_all(schedule)) == {left, right}
    schedule.finish(left)
    assert take_all(schedule) == []
    schedule.finish(right)
    assert take_all(schedule) == [top]
    schedule.finish(top)
    assert schedule.take() is None


def test_what_is_given_back_is_taken_by_who_waits(folder):
    left = make_functions()[0]
    schedule = schedules.Schedule([left])
    assert schedule.take() is left
    found = []
    thread = threading.Thread(target=lambda: found.append(schedule.take()))
    thread.start()
    schedule.give_back(left)
    thread.join(timeout=60)
    assert found == [left]


def test_what_is_on_disk_or_loaded_is_not_scheduled(folder):
    left, _, top = make_functions()
    left.compile()
    assert len(schedules.Schedule([top])) == 2
    assert len(schedules.Schedule([make_functions()[0]])) == 0


@pytest.mark.parametrize("interrupted", [False, True])
@pytest.mark.parametrize("code", ["", "import time; time.sleep(600)", "print('nonsense')"])
def test_helpers_that_fail_or_hang_do_no_harm(folder, monkeypatch, code, interrupted):
    monkeypatch.setattr(schedules, "_PATIENCE", 0.5)
    helpers = []

    def start():
        command = [sys.executable, "-c", code]
        pipe = subprocess.PIPE
        helpers.append(subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True))
        return helpers[-1]

    monkeypatch.setattr(schedules, "_start_process", start)
    top = make_functions()[2]
    if interrupted:
        with pytest.raises(KeyboardInterrupt), schedules.compile_functions([top]):
            raise KeyboardInterrupt
    else:
        with schedules.compile_functions([top]):
            pass
        assert top.made is not None
        assert top(0.5) == 0.75
    assert len(helpers) == 2
    assert all(helper.poll() is not None for helper in helpers)


def test_errors_of_the_block_and_of_compiling_come_up(folder):
    wrong = compiled_function(ONE)(lambda x: x.no_such_thing)
    with pytest.raises(Exception, match="no_such_thing"), schedules.compile_functions([wrong]):
        pass


def test_helpers_are_only_started_where_they_can_help(folder, monkeypatch):
    monkeypatch.undo()
    monkeypatch.setattr(disk_cache.config, "CACHE_DIR", str(folder))
    monkeypatch.setattr(schedules, "_cores", lambda: 8)
    monkeypatch.setattr(disk_cache, "_prepare_folder", disk_cache._prepare_folder.__wrapped__)
    assert schedules._count_helpers(range(5)) == 0
    assert schedules._count_helpers(range(6)) == 1
    assert schedules._count_helpers(range(600)) == 3
    monkeypatch.setattr(schedules.sys, "frozen", True, raising=False)
    assert schedules._count_helpers(range(600)) == 0
    monkeypatch.delattr(schedules.sys, "frozen")
    monkeypatch.setattr(schedules.sys, "executable", None)
    assert schedules._count_helpers(range(600)) == 0
    monkeypatch.undo()
    (folder / "file").write_text("")
    monkeypatch.setattr(schedules, "_cores", lambda: 8)
    monkeypatch.setattr(disk_cache.config, "CACHE_DIR", str(folder / "file"))
    monkeypatch.setattr(disk_cache, "_prepare_folder", disk_cache._prepare_folder.__wrapped__)
    assert schedules._count_helpers(range(600)) == 0


SCRIPT = """
from maxmargin._numba import schedules
from maxmargin._numba.compile import compile_modules
from maxmargin._numba.simplex import maximize, project
schedules._count_helpers = lambda schedule: 1
helped = []
finish = schedules.Schedule.finish

def note(self, lazy):
    helped.append(schedules.threading.current_thread() is not schedules.threading.main_thread())
    finish(self, lazy)

schedules.Schedule.finish = note
if __name__ == "__main__":
    with compile_modules("simplex"):
        while not any(helped):
            schedules.time.sleep(0.01)
    print(len(helped), sum(helped) > 0, maximize.made is not None, project.made is not None)
"""


def run_script(folder, **environment):
    command = [sys.executable, "-c", SCRIPT]
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(folder), **environment}
    ran = subprocess.run(
        command, env=environment, capture_output=True, text=True, check=True, timeout=300
    )
    return ran.stdout.split()


def test_a_helper_compiles_into_the_cache(tmp_path):
    count, *found = run_script(tmp_path)
    assert int(count) >= 2
    assert found == ["True"] * 3
