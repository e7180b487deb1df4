"""What the README says is true: one page, whose code runs as printed and whose links exist."""

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
PACKED = re.findall(r"^```python\n(.*?)^```", README, re.MULTILINE | re.DOTALL)


def test_it_is_one_page():
    assert len(README.encode()) <= 6000


def test_python_blocks_run_as_printed(capsys):
    """And print what the README shows below them, as far as that does not depend on the machine."""
    assert len(PACKED) == 1
    names = {"__name__": "readme"}
    for number, block in enumerate(PACKED):
        exec(compile(block, f"README.md, block {number}", "exec"), names)
    output = capsys.readouterr().out
    assert output.count("of the best possible objective (converged") == 1
    assert output.rstrip().endswith("epochs)")  # the certificate comes last
    wrong = float(re.search(r"letters wrong: ([\d.]+)%", output)[1])
    assert 0 < wrong < 30
    shown = float(re.search(r"^    letters wrong: ([\d.]+)%", README, re.MULTILINE)[1])
    assert abs(shown - wrong) < 1


def test_first_block_is_short():
    assert len([line for line in PACKED[0].splitlines() if line.strip()]) <= 15


def test_links_and_the_figure_exist():
    targets = re.findall(r"\]\(([^)]+)\)", README)
    assert "docs/images/demo.png" in targets
    for target in targets:
        assert (ROOT / target).is_file(), target
    assert (ROOT / "docs/images/demo.png").stat().st_size < 150_000


def test_figures_are_those_of_the_benchmark_page():
    page = (ROOT / "docs/benchmarks.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| .*\d (?:s|ms) \|.*$", README, re.MULTILINE)
    assert len(rows) == 3
    for row in rows:
        for figure in re.findall(r"F1 [\d.]+|[\d.,]+ m?s\b", row):
            assert figure in page, figure
