import json
import shutil
import sys

import pytest

from maxmargin.cli.comparison.process import ComparisonRunError
from maxmargin.cli.comparison.run import Event, config_in, run_comparison
from maxmargin.cli.comparison.text import Progress, describe_comparison
from maxmargin.cli.console import Console
from maxmargin.cli.report.comparison_page import _exponents
from maxmargin.cli.runs import LockedError, RunError, RunFolder


def test_every_run_is_measured_once_and_written(tiny, made_up, tmp_path):
    events = []
    summary = run_comparison({**tiny, "seeds": 2}, tmp_path / "s", listener=events.append)
    assert len(made_up) == 8
    names = sorted(path.name for path in (tmp_path / "s" / "runs").iterdir())
    assert len(names) == 8
    assert names[0] == "bcfw-10-0.json"
    run_spec = json.loads((tmp_path / "s" / "runs" / "bcfw-10-1.json").read_text())
    assert (run_spec["solver"], run_spec["size"], run_spec["seed"]) == ("bcfw", 10, 1)
    assert json.loads((tmp_path / "s" / "comparison.json").read_text()) == summary
    assert [event.stage for event in events] == ["prepare", *["start", "done"] * 8]
    assert [event.number for event in events if event.stage == "done"] == list(range(1, 9))
    assert events[1].left is None
    assert events[-1].left == 0


def test_summary_has_means_spreads_and_exponents(tiny, made_up, tmp_path):
    summary = run_comparison({**tiny, "seeds": 2}, tmp_path / "s")
    assert summary["size_name"] == "sequences"
    assert summary["error_name"] == "label error"
    assert summary["counts"]["test samples"] == 20
    row = summary["rows"][1]
    assert (row["solver"], row["size"], row["runs"], row["failed"]) == ("bcfw", 40, 2, 0)
    assert row["seconds"] == pytest.approx(2 * 40**1.5)
    assert (row["primal"], row["primal_min"], row["primal_max"]) == (1.5, 1.0, 2.0)
    assert row["primal_std"] == pytest.approx(0.5**0.5)
    assert row["memory_bytes"] == 40 * 2**20
    assert row["alpha"] == 0.1
    found = {(e["solver"], e["quantity"]): e["exponent"] for e in summary["exponents"]}
    assert found["bcfw", "seconds"] == pytest.approx(1.5)
    assert found["perceptron", "peak_bytes"] == pytest.approx(1.0)
    assert found["perceptron", "n_oracle"] == pytest.approx(1.0)
    assert ("bcfw", "n_project") not in found  # none was made


def test_intervals_are_promised_only_where_there_are_some(tiny, made_up, tmp_path):
    few = run_comparison({**tiny, "sizes": [10, 40]}, tmp_path / "few")
    told = describe_comparison(few, tmp_path, None)
    assert "exponent (too few runs for an interval)" in told
    assert "95 %" not in told
    assert "95 %" not in str(_exponents(few))
    more = run_comparison({**tiny, "sizes": [10, 20, 40]}, tmp_path / "more")
    assert "exponent (95 % interval)" in describe_comparison(more, tmp_path, None)
    assert "95 % interval" in str(_exponents(more))


def test_one_epoch_is_told_in_the_singular(tiny, made_up, tmp_path, capsys):
    events = []
    run_comparison(tiny, tmp_path / "s", listener=events.append)
    done = events[-1]
    for count in (1, 3):
        document = {**done.document, "n_epochs": count}
        Progress(Console())(Event("done", 1, 1, done.run_spec, document))
    first, second = capsys.readouterr().err.splitlines()
    assert " s, 1 epoch, gap" in first
    assert " s, 3 epochs, gap" in second


def test_resumed_comparison_keeps_its_runs(tiny, made_up, tmp_path):
    first = run_comparison(tiny, tmp_path / "s")
    (tmp_path / "s" / "runs" / "bcfw-40-0.json").unlink()
    (tmp_path / "s" / "comparison.json").unlink()
    made_up.clear()
    events = []
    assert run_comparison(tiny, tmp_path / "s", resume=True, listener=events.append) == first
    assert [asked[:3] for asked in made_up] == [("bcfw", 40, 0)]
    assert [event.stage for event in events] == ["kept", "kept", "start", "done", "kept"]


def test_resumed_comparison_may_grow(tiny, made_up, tmp_path):
    run_comparison(tiny, tmp_path / "s")
    made_up.clear()
    more = {**tiny, "seeds": 2, "solvers": [*tiny["solvers"], "fw"], "sizes": [10, 20, 40]}
    summary = run_comparison(more, tmp_path / "s", resume=True)
    assert len(made_up) == 18 - 4
    assert len(summary["rows"]) == 9


def test_recorded_config_gives_the_same_comparison(tiny, made_up, tmp_path):
    given = {**tiny, "solvers": {"bcfw": {"alpha": 0.5, "step": "pairwise"}, "fw": {}}}
    run_comparison({**given, "task-options": {"raise-at": 7}}, tmp_path / "s")
    made_up.clear()
    run_comparison(config_in(tmp_path / "s"), tmp_path / "s", resume=True)
    assert made_up == []


@pytest.mark.parametrize(
    "change, words",
    [
        ({"tol": 0.5}, "tol: None, now 0.5"),
        ({"solvers": {"bcfw": {"alpha": 3}}}, "alpha: None, now 3.0"),
        ({"sizes": [10, 50]}, "largest size: 40, now 50"),
        ({"threads": 2}, "threads: 1, now 2"),
    ],
)
def test_other_settings_cannot_resume(tiny, made_up, tmp_path, change, words):
    run_comparison(tiny, tmp_path / "s")
    with pytest.raises(RunError, match=f"bcfw-10-0.json' was measured with other .*{words}"):
        run_comparison({**tiny, **change}, tmp_path / "s", resume=True)


def test_other_data_cannot_resume_but_may_move(tiny, made_up, samples, tmp_path):
    data = tmp_path / "a.jsonl"
    shutil.copy(samples, data)
    run_comparison({**tiny, "data": [str(data)]}, tmp_path / "s")
    made_up.clear()
    run_comparison(tiny, tmp_path / "s", resume=True)
    assert made_up == []
    data.write_text(data.read_text() + "\n")
    with pytest.raises(RunError, match="other settings or data .files"):
        run_comparison({**tiny, "data": [str(data)]}, tmp_path / "s", resume=True)


def test_old_comparison_is_not_overwritten(tiny, made_up, tmp_path):
    run_comparison(tiny, tmp_path / "s")
    with pytest.raises(RunError, match="holds a comparison already; add --resume"):
        run_comparison(tiny, tmp_path / "s")


def test_folder_with_other_files_is_left_alone(tiny, made_up, tmp_path):
    (tmp_path / "letter.txt").write_text("dear")
    with pytest.raises(RunError, match="has other files in it, such as 'letter.txt'"):
        run_comparison(tiny, tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == [".lock", "letter.txt"]


def test_comparison_that_found_an_error_before_its_first_run_can_begin_anew(
    tiny, made_up, tmp_path
):
    with pytest.raises(ValueError, match="size 61"):
        run_comparison({**tiny, "sizes": [61]}, tmp_path / "s")
    assert run_comparison(tiny, tmp_path / "s")["runs"] == 4


def test_environment_is_recorded_each_time(tiny, made_up, tmp_path):
    run_comparison(tiny, tmp_path / "s")
    run_comparison(tiny, tmp_path / "s", resume=True)
    found = json.loads((tmp_path / "s" / "environment.json").read_text())
    assert found["threads"] == 1
    assert len(found["resumed"]) == 1


@pytest.mark.parametrize(
    "content, words",
    [
        ("{", "is damaged"),
        ("[]", "is damaged"),
        ('{"key": {}, "status": "converged"}', "lacks what a run has"),
        ('{"key": {}, "status": "failed"}', "lacks what a run has"),
    ],
)
def test_damaged_run_is_named(tiny, made_up, tmp_path, content, words):
    run_comparison(tiny, tmp_path / "s")
    (tmp_path / "s" / "runs" / "bcfw-10-0.json").write_text(content)
    with pytest.raises(RunError, match=f"bcfw-10-0.json' {words}"):
        run_comparison(tiny, tmp_path / "s", resume=True)


def test_locked_folder_is_refused(tiny, made_up, tmp_path):
    (tmp_path / "s").mkdir()
    with RunFolder(tmp_path / "s").locked(), pytest.raises(LockedError, match="in use by process"):
        run_comparison(tiny, tmp_path / "s")
    assert made_up == []


def test_failed_runs_are_recorded_and_tried_again(tiny, made_up, tmp_path, monkeypatch):
    import maxmargin.cli.comparison.run as module

    honest = module.run_in_process

    def run_in_process(request, **options):
        if request["run"] and request["run"]["solver"] == "bcfw":
            raise ComparisonRunError("no luck")
        return honest(request, **options)

    monkeypatch.setattr(module, "run_in_process", run_in_process)
    events = []
    summary = run_comparison(tiny, tmp_path / "s", listener=events.append)
    failed = {"solver": "bcfw", "size": 10, "seed": 0, "message": "no luck"}
    assert summary["failed"] == [failed, {**failed, "size": 40}]
    assert [row["failed"] for row in summary["rows"]] == [1, 1, 0, 0]
    assert summary["rows"][0]["seconds"] is None
    assert [event.stage for event in events].count("failed") == 2
    assert {e["solver"] for e in summary["exponents"]} == {"perceptron"}
    monkeypatch.setattr(module, "run_in_process", honest)
    made_up.clear()
    assert run_comparison(tiny, tmp_path / "s", resume=True)["failed"] == []
    assert len(made_up) == 2


def test_errors_of_the_data_end_the_comparison(tiny, tmp_path, made_up, monkeypatch):
    with pytest.raises(ValueError, match="size 61 is more than the 60 samples"):
        run_comparison({**tiny, "sizes": [61]}, tmp_path / "a")
    with pytest.raises(FileNotFoundError, match="absent"):
        run_comparison({**tiny, "data": [str(tmp_path / "absent")]}, tmp_path / "b")
    with pytest.raises(ValueError, match="task 'tinny' is unknown"):
        run_comparison({**tiny, "task": "tinny"}, tmp_path / "c")

    def run_in_process(request, **options):
        raise ComparisonRunError("line 3 is wrong")

    monkeypatch.setattr("maxmargin.cli.comparison.run.run_in_process", run_in_process)
    with pytest.raises(ValueError, match="line 3 is wrong"):
        run_comparison(tiny, tmp_path / "d")


def test_time_limit_also_bounds_the_process(tiny, made_up, tmp_path):
    run_comparison({**tiny, "solvers": ["bcfw"]}, tmp_path / "a")
    run_comparison({**tiny, "solvers": {"bcfw": {"time-limit": 5}}}, tmp_path / "b")
    run_comparison({**tiny, "solvers": ["bcfw"], "time-limit": 5, "kill-after": 9}, tmp_path / "c")
    assert [asked[3] for asked in made_up[::2]] == [None, 610, 9]


def test_work_that_a_time_limit_has_cut_short_has_no_exponent(tiny, made_up, tmp_path, monkeypatch):
    def cut(request, threads=1, seconds=None):
        answer = honest(request, threads, seconds)
        run_spec = request["run"]
        late = run_spec is not None and run_spec["solver"] == "bcfw" and run_spec["size"] == 40
        return answer | ({"status": "time_limit"} if late else {})

    honest = sys.modules["maxmargin.cli.comparison.run"].run_in_process
    monkeypatch.setattr("maxmargin.cli.comparison.run.run_in_process", cut)
    summary = run_comparison(tiny, tmp_path / "comparison")
    found = {(e["solver"], e["quantity"]) for e in summary["exponents"]}
    assert {quantity for solver, quantity in found if solver == "bcfw"} == {
        "peak_bytes",
        "solver_bytes",
    }
    assert ("perceptron", "seconds") in found
    told = describe_comparison(summary, tmp_path, None)
    assert "none for the time and calls of solvers that a time limit has cut short" in told


def test_a_larger_size_asks_anew_how_many_samples_there_are(tiny, made_up, tmp_path, monkeypatch):
    def few(request, threads=1, seconds=None):
        if request["run"] is None:
            return honest(request) | {"n_samples": max(request["config"]["sizes"])}
        raise KeyboardInterrupt

    honest = sys.modules["maxmargin.cli.comparison.run"].run_in_process
    monkeypatch.setattr("maxmargin.cli.comparison.run.run_in_process", few)
    for sizes in ([10], [10, 50]):
        with pytest.raises(KeyboardInterrupt):
            run_comparison({**tiny, "sizes": sizes}, tmp_path / "comparison", resume=True)


def test_folder_without_a_comparison_is_named(tmp_path):
    with pytest.raises(RunError, match="holds no comparison"):
        config_in(tmp_path)
