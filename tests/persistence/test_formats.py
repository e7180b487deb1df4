"""Files of every format there has been are read, and say what was recorded when they were made."""

import json
from pathlib import Path

import pytest

import maxmargin
from maxmargin.persistence.model_file import VERSION
from persistence.make_format import KINDS, metrics

FOLDERS = sorted(Path(__file__).parent.glob("format_*"))


def test_each_format_has_its_files():
    assert [folder.name for folder in FOLDERS] == [f"format_{v + 1}" for v in range(VERSION)]


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
@pytest.mark.parametrize("name", KINDS)
def test_a_file_of_old_says_what_it_said(folder, name):
    recorded = json.loads((folder / f"{name}.json").read_text(encoding="utf-8"))
    model = maxmargin.load(folder / f"{name}.mm")
    assert metrics(model, recorded["X"]) == recorded["facts"]


def test_a_file_of_old_can_be_saved_again(tmp_path):
    model = maxmargin.load(FOLDERS[0] / "words.mm")
    model.save(tmp_path / "words.mm")
    again = maxmargin.load(tmp_path / "words.mm")
    assert again.coef_.tobytes() == model.coef_.tobytes()
