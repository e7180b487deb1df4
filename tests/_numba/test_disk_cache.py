"""Compiled functions on disk: found by content, checked before use, done without where need be."""

import ast
import importlib.util
import logging
from pathlib import Path

import pytest
from numba import types

from maxmargin._numba import disk_cache as caching
from maxmargin._numba.compile import compiled_function

SOURCES = sorted(caching._PACKAGE.rglob("*.py"))


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


def test_a_change_of_a_called_file_is_seen(tmp_path, monkeypatch):
    monkeypatch.setattr(caching, "_PACKAGE", tmp_path)
    digest = caching.source_digest.__wrapped__
    monkeypatch.setattr(caching, "source_digest", digest)
    (tmp_path / "a.py").write_text("from maxmargin._numba.b import f\n")
    (tmp_path / "b.py").write_text("from maxmargin._numba import c, d\n")
    for name in "cd":
        (tmp_path / f"{name}.py").write_text("x = 1\n")
    before = digest(tmp_path / "a.py")
    assert digest(tmp_path / "a.py") == before
    (tmp_path / "d.py").write_text("x = 2\n")
    assert digest(tmp_path / "a.py") != before


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: path.stem)
def test_imports_of_compiled_modules_are_all_found(path):
    source = path.read_text(encoding="utf-8")
    expected = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.ImportFrom) and node.module.startswith("maxmargin."):
            package = importlib.util.find_spec(node.module).submodule_search_locations is not None
            names = [f"{node.module}.{alias.name}" for alias in node.names]
            for name in names if package else [node.module]:
                expected.add(Path(importlib.util.find_spec(name).origin))
        elif isinstance(node, ast.Import):
            assert not any(alias.name.startswith("maxmargin") for alias in node.names)
    assert set(caching.imported_modules(source)) == expected
