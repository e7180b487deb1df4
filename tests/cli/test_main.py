"""The command as a whole, and `maxmargin info`."""

import json
import os
import platform
import subprocess
import sys
from contextlib import contextmanager

import numba
import pytest

import maxmargin
from maxmargin._numba.disk_cache import cache_folder
from maxmargin.cli import main
from maxmargin.datasets import dependencies
from maxmargin.tasks.registry import TASK_COMMANDS


def facts_of(output):
    return dict(line.split("  ", 1) for line in output.splitlines())


def info(capsys):
    assert main(["info"]) == 0
    return {name: value.strip() for name, value in facts_of(capsys.readouterr().out).items()}


def test_info_names_versions_threads_and_compile_cache(capsys):
    counts = info(capsys)
    assert counts["maxmargin"] == maxmargin.__version__
    assert counts["python"] == platform.python_version()
    assert counts["numba"] == numba.__version__
    assert {"numpy", "scipy", "scikit-learn"} <= set(counts)
    assert int(counts["threads"].split()[0]) >= 1
    assert counts["compile cache"] == str(cache_folder())


def test_info_for_programs_names_tasks_and_solvers(capsys):
    assert main(["info", "--json"]) == 0
    counts = json.loads(capsys.readouterr().out)
    assert counts["maxmargin"] == maxmargin.__version__
    assert counts["tasks"] == list(TASK_COMMANDS)
    assert "tagging" in counts["tasks"]
    assert "bcfw" in counts["solvers"]


def test_a_task_that_cannot_be_imported_is_not_usable(capsys, monkeypatch):
    monkeypatch.setitem(TASK_COMMANDS, "ghost", "maxmargin.tasks.registry.ghost:GhostCommand")
    assert "ghost" not in info(capsys)["tasks"]


def test_version(capsys):
    assert main(["--version"]) == 0
    assert capsys.readouterr().out == f"maxmargin {maxmargin.__version__}\n"


def test_info_counts_compiled_functions(capsys, monkeypatch, tmp_path):
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path))
    assert info(capsys)["compiled code"] == "none yet; the first fit compiles, once"
    cache_folder().mkdir()
    (cache_folder() / "chain.maximize-0123456789abcdef.nbc").touch()
    assert info(capsys)["compiled code"] == "1 functions"


def test_info_compiles_ahead(capsys, monkeypatch):
    compiled = []

    @contextmanager
    def compile_modules(*names):
        compiled.extend(names)
        yield

    monkeypatch.setattr("maxmargin.cli.info.compile_modules", compile_modules)
    assert main(["info"]) == 0
    assert compiled == []
    assert main(["info", "--compile"]) == 0
    assert {"simplex", "chain.maximize", "passes.bcfw"} <= set(compiled)


def test_info_lists_data_sets_without_a_download(capsys, monkeypatch, tmp_path):
    (tmp_path / "data" / "ocr_letters").mkdir(parents=True)
    (tmp_path / "data" / "ocr_letters" / "letter.data").touch()
    (tmp_path / "cache" / "conll2000").mkdir(parents=True)
    (tmp_path / "cache" / "conll2000" / "test.txt").touch()
    monkeypatch.setenv("MAXMARGIN_DATA", str(tmp_path / "data"))
    monkeypatch.setenv("MAXMARGIN_CACHE", str(tmp_path / "cache"))
    counts = info(capsys)
    assert counts["MAXMARGIN_DATA"] == f"{tmp_path / 'data'}: letters"
    assert counts["data cache"] == f"{tmp_path / 'cache'}: conll2000 (test)"
    monkeypatch.delenv("MAXMARGIN_DATA")
    monkeypatch.setenv("MAXMARGIN_CACHE", str(tmp_path / "missing"))
    counts = info(capsys)
    assert counts["MAXMARGIN_DATA"] == "not set"
    assert counts["data cache"].endswith("missing: no such folder")
    assert not (tmp_path / "missing").exists()


def test_every_data_set_that_can_be_loaded_is_found(capsys, monkeypatch, tmp_path):
    for name in ("scene/scene_train.svm.gz", "yeast/yeast_test.svm.gz"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch()
    source = dependencies.EWT["dev"]
    (tmp_path / source.folder).mkdir()
    (tmp_path / source.folder / source.names[0]).touch()
    monkeypatch.setenv("MAXMARGIN_DATA", str(tmp_path))
    found = info(capsys)["MAXMARGIN_DATA"].removeprefix(f"{tmp_path}: ")
    known = "dependencies (ewt dev), scene (train), yeast (test), treebank (ud_english_ewt dev)"
    assert found == known


@pytest.mark.parametrize("arguments", [[], ["nonsense"]])
def test_missing_or_unknown_command_is_code_2(capsys, arguments):
    assert main(arguments) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.count("\n") == 1
    assert "command" in printed.err


@pytest.mark.parametrize(
    "arguments, text",
    [
        (["--help"], "demo"),
        (["--help"], "nodes of a tree, objects in images"),
        (["demo", "--help"], "--words"),
        (["predict", "--help"], "predict masks-run photo.jpg --out mask.png"),
        (["compare", "scan", "--help"], "segment point clouds (one of two labels for every"),
        (["compare", "scan", "--help"], "--sizes 5,10,20 --seeds 3"),
        (["compare", "tagging", "--help"], "--sizes 500,1000,5000 --seeds 3"),
    ],
)
def test_help(capsys, arguments, text):
    assert main(arguments) == 0
    assert text in " ".join(capsys.readouterr().out.split())


@pytest.mark.parametrize("module", ["maxmargin", "maxmargin.cli"])
def test_the_program_is_a_module_too(module):
    run = subprocess.run(
        [sys.executable, "-m", module, "--version"], capture_output=True, text=True, check=False
    )
    assert (run.returncode, run.stderr) == (0, "")
    assert run.stdout == f"maxmargin {maxmargin.__version__}\n"


def test_help_is_quick_because_numpy_and_the_like_are_not_imported():
    code = (
        "import sys\n"
        "from maxmargin.cli import main\n"
        "main(['--help'])\n"
        "sys.exit(bool({'numpy', 'numba', 'sklearn', 'matplotlib'} & set(sys.modules)))"
    )
    assert (
        subprocess.run([sys.executable, "-c", code], capture_output=True, check=False).returncode
        == 0
    )


def test_a_reader_that_leaves_early_causes_no_traceback():
    reading, writing = os.pipe()
    os.close(reading)
    run = subprocess.run(
        [sys.executable, "-m", "maxmargin.cli", "info"],
        stdout=writing,
        stderr=subprocess.PIPE,
        text=True,
        check=False,
    )
    os.close(writing)
    assert run.returncode == 141
    assert run.stderr == ""
