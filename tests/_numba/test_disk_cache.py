"""Compiled functions on disk: found by content, checked before use, done without where need be."""

import importlib.util
import logging
import os
import subprocess
import sys
from collections import namedtuple

import numpy as np
import pytest
from numba import types

from maxmargin._numba import disk_cache as caching
from maxmargin._numba.compile import (
    INTS,
    compile_internal,
    compiled_function,
    functions_of,
    list_modules,
    tuple_type,
    types as lazy_types,
)
from maxmargin._numba.digests import digest_function


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """An empty cache."""
    monkeypatch.setattr(caching.config, "CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setattr(caching, "_prepare_folder", caching._prepare_folder.__wrapped__)
    monkeypatch.setattr(caching, "_tell_once", caching._tell_once.__wrapped__)
    return caching.cache_folder()


def compile_doubling(tmp_path):
    """A compiled function of a file of its own."""
    path = tmp_path / "doubling.py"
    path.write_text("def double(x):\n    return 2.0 * x\n", encoding="utf-8")
    return load_function(path)


def load_function(path):
    spec = importlib.util.spec_from_file_location("doubling", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return compiled_function(types.float64(types.float64))(module.double)


def test_a_compiled_function_is_found_again(tmp_path, folder):
    assert compile_doubling(tmp_path)(3.0) == 6.0
    (file,) = folder.iterdir()
    written = file.stat().st_mtime_ns
    again = compile_doubling(tmp_path)
    assert again(4.0) == 8.0
    assert sum(again.dispatcher.stats.cache_hits.values()) == 1
    assert file.stat().st_mtime_ns == written


@pytest.mark.parametrize(
    "damage",
    [lambda raw: b"", lambda raw: raw[:100], lambda raw: raw[:-1], lambda raw: raw[:-9] + raw[-8:]],
    ids=["empty", "cut short", "one byte lost at the end", "one byte lost within"],
)
def test_a_damaged_file_is_replaced(tmp_path, folder, caplog, damage):
    compile_doubling(tmp_path).compile()
    (file,) = folder.iterdir()
    sound = file.read_bytes()
    file.write_bytes(damage(sound))
    with caplog.at_level(logging.WARNING, "maxmargin"):
        assert compile_doubling(tmp_path)(3.0) == 6.0
    assert f"{file} was damaged" in caplog.text
    again = compile_doubling(tmp_path)
    assert sum(again.dispatcher.stats.cache_hits.values()) == 1


def test_a_cache_that_cannot_be_written_costs_time_only(tmp_path, folder, caplog):
    folder.parent.write_text("a file where a folder should be", encoding="utf-8")
    with caplog.at_level(logging.WARNING, "maxmargin"):
        assert compile_doubling(tmp_path)(3.0) == 6.0
    assert "cannot be kept" in caplog.text
    assert "NUMBA_CACHE_DIR" in caplog.text


def test_a_user_without_a_home_has_no_cache(tmp_path, folder, caplog, monkeypatch):
    def no_home(path):
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.setattr(caching.Path, "expanduser", no_home)
    with caplog.at_level(logging.WARNING, "maxmargin"):
        assert compile_doubling(tmp_path)(3.0) == 6.0
    assert "cannot be kept" in caplog.text
    assert not caching.can_write()


def test_a_folder_that_may_not_be_looked_into_has_no_functions(tmp_path, folder, monkeypatch):
    def closed(*args, **options):
        raise PermissionError(13, "Permission denied")

    function = compile_doubling(tmp_path)
    function.compile()
    assert caching.is_on_disk(function)
    monkeypatch.setattr(caching.os, "stat", closed)
    assert not caching.is_on_disk(function)


def test_a_full_disk_leaves_nothing_behind(tmp_path, folder, caplog, monkeypatch):
    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(caching.os, "replace", full)
    with caplog.at_level(logging.WARNING, "maxmargin"):
        assert compile_doubling(tmp_path)(3.0) == 6.0
    assert "No space left on device" in caplog.text
    assert list(folder.iterdir()) == []


def test_what_is_long_unused_is_removed(tmp_path, folder):
    folder.mkdir(parents=True)
    old, new = folder / "old.nbc", folder / "new.nbc"
    for path in (old, new):
        path.write_bytes(b"")
    caching.os.utime(old, (0, 0))
    compile_doubling(tmp_path).compile()
    assert not old.exists()
    assert new.exists()


def digest(source, name="f", **known):
    """The digest of a function of some source, which reads what is known."""
    space = {"__name__": "space", **known}
    exec(source, space)
    return digest_function(compiled_function(types.float64(types.float64))(space[name]))


def lazy(source):
    space = {}
    exec(source, space)
    return compiled_function(types.float64(types.float64))(space["g"])


def test_a_change_of_a_called_function_is_seen():
    caller = "def f(x):\n    return g(x)\n"
    one, two = lazy("def g(x):\n    return x + 1.0\n"), lazy("def g(x):\n    return x + 2.0\n")
    again = lazy("\n\ndef g(x):\n    return x + 1.0\n")
    assert digest(caller, g=one) == digest(caller, g=again) != digest(caller, g=two)


@pytest.mark.parametrize(
    ("one", "two"),
    [
        (1, 2),
        (1, 1.0),
        (0.0, -0.0),
        (np.float64(1.0), np.float64(2.0)),
        ((1, 2), (2, 1)),
        (namedtuple("A", "x y"), namedtuple("A", "y x")),
        (np.add, np.subtract),
        (min, max),
    ],
)
def test_a_change_of_what_a_function_reads_is_seen(one, two):
    source = "def f(x):\n    return x + K\n"
    assert digest(source, K=one) == digest(source, K=one) != digest(source, K=two)


def test_options_and_signatures_count():
    def function(x):
        return x

    plain = types.float64(types.float64)
    kinds = [
        compiled_function(plain),
        compiled_function(types.int64(types.int64)),
        compile_internal(plain),
        compile_internal(plain, reorder=True),
        compile_internal(plain, no_nan=True),
    ]
    assert len({digest_function(kind(function)) for kind in kinds}) == len(kinds)


def test_fields_of_tuples_in_signatures_count():
    def function(x):
        return 1.0

    def digest_with(fields):
        pair = tuple_type(namedtuple("A", fields), {"a": INTS, "b": INTS})
        return digest_function(compiled_function(lazy_types.float64(pair))(function))

    assert digest_with("a b") == digest_with("a b") != digest_with("b a")


def test_what_has_moved_to_another_module_is_other_code():
    """Files name the modules of functions and of tuples, which would not be found there."""

    def digest_in(module, pair_module):
        pair = namedtuple("Pair", ["a", "b"], module=pair_module)
        space = {"__name__": module}
        exec("def f(x):\n    return x.a\n", space)
        return digest_function(compiled_function(lazy_types.float64(pair))(space["f"]))

    assert digest_in("one", "one") == digest_in("one", "one")
    assert len({digest_in(m, n) for m in ("one", "other") for n in ("one", "other")}) == 4


def test_what_cannot_be_told_apart_is_refused():
    with pytest.raises(TypeError, match="f reads .*which compiled functions cannot depend on"):
        digest("def f(x):\n    return K.a\n", K=object())


def test_the_source_in_memory_counts_not_the_file(tmp_path, folder, monkeypatch):
    """A file that is edited while a process runs must not get that process's code."""
    monkeypatch.setattr(sys, "dont_write_bytecode", True)  # it counts seconds, and would be old
    old = compile_doubling(tmp_path)
    path = tmp_path / "doubling.py"
    path.write_text(path.read_text().replace("2.0", "3.0"))
    assert old(1.0) == 2.0
    new = load_function(path)
    assert new(1.0) == 3.0
    assert len(list(folder.iterdir())) == 2


def test_other_words_in_a_docstring_are_not_compiled_again():
    body = "    return 2.0 * x\n"
    told, retold = (f'def f(x):\n    """{words}"""\n{body}' for words in ("One.", "Two."))
    assert digest(told) == digest(retold)
    assert digest(told) != digest(told.replace("2.0", "3.0"))
    assert digest("def f(x):\n    return None\n") != digest("def f(x):\n    return 1.0\n")


def test_all_functions_have_digests():
    for name in list_modules():
        for function in functions_of(name):
            assert len(digest_function(function)) == 64


def test_names_of_functions_are_the_same_in_all_processes():
    """A caller that one process compiled finds what another compiled; sets have no fixed order."""
    code = (
        "from numba.core.cpu_options import FastMathOptions\n"
        "from maxmargin._numba.dispatchers import _Options\n"
        "options = _Options()\n"
        "options.fastmath = FastMathOptions({'contract', 'nnan', 'nsz'})\n"
        "print(options.get_mangle_string())\n"
    )
    names = {
        subprocess.run(
            [sys.executable, "-c", code], env={**os.environ, "PYTHONHASHSEED": str(seed)},
            capture_output=True, text=True, check=True,
        ).stdout
        for seed in range(4)
    }  # fmt: skip
    assert len(names) == 1
