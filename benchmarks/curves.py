"""Six ways to train, as the 2013 paper on block-coordinate Frank-Wolfe compares them.

Primal suboptimality and test error against passes and seconds of processor time (certificates and
errors not counted, one thread), several seeds, on handwritten letters and CoNLL-2000 at
alpha = 0.01, 0.001 and 1/n, the Hamming loss as a share. Lacoste-Julien, Jaggi, Schmidt, Pletscher,
ICML 2013, figure 1.

    python -m benchmarks curves                       a short run, a table
    python -m benchmarks curves --out FOLDER          figures and curves.csv, too
    python -m benchmarks curves --out FOLDER --full   ten seeds, all passes

The best possible objective comes from a long run of the default solver, remembered in the cache
folder; suboptimality is the distance to its lower bound, so it never flatters.
"""

from __future__ import annotations

import argparse
import csv
import json
import multiprocessing
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from copy import copy
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from benchmarks.measure import CHUNK_TEMPLATES, data_folder
from maxmargin import ChainSVM
from maxmargin.datasets import load_conll2000, load_letters
from maxmargin.datasets._files import cache_folder
from maxmargin.problem import Problem
from maxmargin.samples import Samples
from maxmargin.solvers import BCFW, FrankWolfe, Solver, Subgradient
from maxmargin.solvers.base import solver_classes
from maxmargin.tasks.tagging.token_features import TokenFeatures

#: passes after which objectives and errors are measured, and how many there are on each data set
MOMENTS = (1, 2, 3, 5, 7, 10, 14, 20, 30, 40, 60, 100)
FULL_PASSES = {"letters": 40, "chunks": 14}
SHORT_PASSES = {"letters": 10, "chunks": 3}
#: features seen fewer times are left out, so that there are about as many as in the paper
MIN_COUNT = 3
LEVELS = (1e-1, 1e-2, 1e-3)
#: relative gap of the long run, and its passes at most
CLOSE, LONGEST = 1e-4, {"letters": 200, "chunks": 40}


@dataclass
class Task:
    """A data set: the training problem, and how to measure the error of weights on held-out data.

    n_labels : held-out variables; right : 1 where the truth is, on the parts of single variables.
    """

    name: str
    problem: Problem
    held_out: list[Samples]
    right: list[np.ndarray]
    n_labels: int
    optimum: dict[float, float] = field(default_factory=dict)

    def at(self, alpha: float) -> Problem:
        """The same samples with another penalty."""
        problem = copy(self.problem)
        problem.alpha = alpha
        return problem

    def error(self, w: np.ndarray) -> float:
        """The share of held-out labels that are wrong."""
        found = 0.0
        for samples, right in zip(self.held_out, self.right, strict=True):
            z = np.empty_like(right)
            samples.apply("maximize", w, out=z)
            found += float(z @ right)
        return 1.0 - found / self.n_labels


def make_task(name: str, X: Any, y: Any, X_test: Any, y_test: Any) -> Task:
    """Training and test samples of label sequences."""
    model = ChainSVM(loss="hamming", n_jobs=1)
    problem = model._problem(X, y, None, None)
    held_out, right, done = list(model._in_chunks(X_test)), [], 0
    numbers = {label: k for k, label in enumerate(model.classes_.tolist())}
    for samples in held_out:
        own = np.zeros(int(samples.part_ptr[-1]))
        for i, (length, labels) in enumerate(samples.layouts):
            truth = [numbers.get(label, -1) for label in list(y_test[done + i])]
            at = np.arange(length) * labels + truth
            own[samples.parts(i)][at[np.array(truth) >= 0]] = 1.0
        right.append(own)
        done += samples.n
    return Task(name, problem, held_out, right, sum(len(own) for own in y_test))


def letters(folder: Path) -> Task:
    """Nine folds of words to learn from, fold 0 to test on, as in the paper."""
    data = load_letters(folder)
    train, test = np.flatnonzero(data.fold != 0), np.flatnonzero(data.fold == 0)
    parts = [[own[i] for i in chosen] for chosen in (train, test) for own in (data.X, data.y)]
    return make_task("letters", *parts)


def chunks(folder: Path) -> Task:
    """The test sentences where they are at hand, else the last tenth of the training ones."""
    train = load_conll2000("train", folder)
    sentences, tags = train.sentences, train.tags
    cut = len(sentences) * 9 // 10
    held_out, truth = sentences[cut:], tags[cut:]
    if any(folder.glob("test*")):
        test = load_conll2000("test", folder)
        cut, held_out, truth = len(sentences), test.sentences, test.tags
    features = TokenFeatures(CHUNK_TEMPLATES, min_count=MIN_COUNT)
    rows = features.fit_transform(sentences[:cut])
    return make_task("chunks", rows, tags[:cut], features.transform(held_out), truth)


TASKS = {"letters": (letters, "ocr_letters"), "chunks": (chunks, "conll2000")}


@dataclass(frozen=True)
class Method:
    """A solver, and what its candidates (the last weights, then their average) are called."""

    solver: Solver
    names: tuple[str | None, ...]
    random: bool = True


def methods() -> dict[str, Method]:
    """Those of the paper that the library has, and its own default."""
    found = {
        "BCFW": Method(BCFW("frank-wolfe"), ("BCFW", "BCFW-wavg")),
        "FW": Method(FrankWolfe(), ("FW",), random=False),
        "SSG": Method(Subgradient("weighted"), ("SSG", "SSG-wavg")),
        "SSG-tavg": Method(Subgradient("half"), (None, "SSG-tavg")),
        "BCFW-corrective": Method(BCFW(averaging=False), ("BCFW-corrective",)),
    }
    gradient = solver_classes().get("eg")
    if gradient is not None:
        found["online-EG"] = Method(gradient(averaging=False), ("online-EG",))  # type: ignore[call-arg]
    return found


def trace(
    task: Task, alpha: float, name: str, seed: int, passes: int, moments: Sequence[int] = MOMENTS
) -> list[dict[str, Any]]:
    """Rows of one run: what is known of each candidate at each moment."""
    method, problem = methods()[name], task.at(alpha)
    solver = method.solver.set_params(random_state=seed)
    solver.prepare(problem)
    begun = time.process_time()
    state, rows = solver.init(problem), []
    seconds = time.process_time() - begun
    for epoch in range(1, passes + 1):
        begun = time.process_time()
        solver.epoch(problem, state)
        seconds += time.process_time() - begun
        state.epoch = epoch
        if epoch not in moments and epoch != passes:
            continue
        for called, w in zip(method.names, solver.candidates(problem, state), strict=True):
            if called is not None:
                metrics = _measured(task, problem, w)
                moment = {"method": called, "seed": seed, "passes": epoch, "seconds": seconds}
                rows.append({"data": task.name, "alpha": alpha} | moment | metrics)
    return rows


def _measured(task: Task, problem: Problem, w: np.ndarray) -> dict[str, float]:
    primal = problem.primal(w)
    apart = primal - task.optimum[problem.alpha]
    return {
        "primal": primal,
        "suboptimality": apart,
        "relative": apart / task.optimum[problem.alpha],
        "test_error": task.error(w),
    }


def best_known(task: Task, alpha: float, close: float = CLOSE) -> dict[str, float]:
    """Bounds on the best objective, within `close` of each other if passes allow it."""
    problem = task.at(alpha)
    solver = BCFW(sampling="gap", tol=close, max_epochs=LONGEST.get(task.name, 1000))
    result = solver.run(problem)
    return {"dual": result.dual, "primal": result.primal}


def find_optima(tasks: Sequence[Task], alphas: Sequence[str], jobs: int) -> None:
    """Set each task's optima: those in the cache folder, and the others by long runs."""
    file = cache_folder() / "curves" / "optima.json"
    known: dict[str, Any] = {}
    with suppress(OSError, ValueError):
        known = json.loads(file.read_text(encoding="utf-8"))
    wanted = {(task.name, _alpha(own, task)): task for task in tasks for own in alphas}
    missing = [key for key, task in wanted.items() if _key(task, key[1]) not in known]
    for key, found in zip(missing, _spread(_optimum_run, missing, jobs), strict=True):
        known[_key(wanted[key], key[1])] = found
    if missing:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(json.dumps(known, indent=1) + "\n", encoding="utf-8")
    for (_, alpha), task in wanted.items():
        found = known[_key(task, alpha)]
        task.optimum[alpha] = float(found["dual"])
        words = f"between {found['dual']:.6g} and {found['primal']:.6g}"
        print(f"  {task.name}, alpha = {alpha:.3g}: best objective {words}", flush=True)


def _key(task: Task, alpha: float) -> str:
    return f"{task.name} n={task.problem.n} d={task.problem.dim} alpha={alpha:.12g}"


_TASKS: dict[str, Task] = {}  # what processes inherit by fork instead of being sent


def _optimum_run(case: tuple[str, float]) -> dict[str, float]:
    with threadpool_limits(1):
        return best_known(_TASKS[case[0]], case[1])


def _trace_run(case: tuple[str, float, str, int, int]) -> list[dict[str, Any]]:
    with threadpool_limits(1):
        return trace(_TASKS[case[0]], *case[1:])


def measure(
    tasks: Sequence[Task],
    alphas: Sequence[str],
    chosen: Sequence[str],
    seeds: int,
    passes: dict[str, int],
    jobs: int,
) -> list[dict[str, Any]]:
    """All runs, `jobs` at a time; data and optima are shared."""
    todo = []
    for task in tasks:
        for alpha in dict.fromkeys(_alpha(own, task) for own in alphas):
            for name in chosen:
                count = seeds if methods()[name].random else 1
                todo += [(task.name, alpha, name, s, passes[task.name]) for s in range(count)]
    # the most expensive first, so that no core waits for one of them at the end
    todo.sort(
        key=lambda case: (case[0] != "chunks", case[2] not in ("online-EG", "BCFW-corrective"))
    )
    return [row for rows in _spread(_trace_run, todo, jobs) for row in rows]


def _spread(work: Callable[[Any], Any], todo: Sequence[Any], jobs: int) -> list[Any]:
    """All answers in order, by `jobs` processes that share the memory of this one."""
    if jobs == 1 or len(todo) < 2:
        return [work(own) for own in todo]
    with multiprocessing.get_context("fork").Pool(min(jobs, len(todo))) as pool:
        return list(pool.imap(work, todo))


def _alpha(given: str, task: Task) -> float:
    return 1.0 / task.problem.n if given == "1/n" else float(given)


def groups(rows: list[dict[str, Any]]) -> Iterator[tuple[str, float, list[dict[str, Any]]]]:
    """Rows by data set and alpha, methods in the order of `methods`."""
    order = [name for method in methods().values() for name in method.names if name]
    for data, alpha in dict.fromkeys((row["data"], row["alpha"]) for row in rows):
        own = [row for row in rows if (row["data"], row["alpha"]) == (data, alpha)]
        yield data, alpha, sorted(own, key=lambda row: order.index(row["method"]))


def reached(rows: list[dict[str, Any]], method: str, level: float) -> tuple[float, float] | None:
    """Median passes and seconds to a relative suboptimality; None if most runs do not get there."""
    runs: dict[int, tuple[float, float]] = {}
    seeds = {row["seed"] for row in rows if row["method"] == method}
    for row in sorted(rows, key=lambda row: row["passes"]):
        if row["method"] == method and row["relative"] <= level:
            runs.setdefault(row["seed"], (row["passes"], row["seconds"]))
    if 2 * len(runs) <= len(seeds):
        return None
    late = [(np.inf, np.inf)] * (len(seeds) - len(runs))
    return tuple(np.median([*runs.values(), *late], axis=0))  # type: ignore[return-value]


def table(rows: list[dict[str, Any]]) -> str:
    """Passes and seconds to each level, and the test error at the end."""
    lines = []
    for data, alpha, own in groups(rows):
        lines.append(f"\n  {data}, alpha = {alpha:.3g}: median passes (seconds) to a relative")
        heads = [f"{level:g}" for level in LEVELS]
        lines.append(
            "  suboptimality of    " + "".join(f"{h:>16s}" for h in heads) + "  test error"
        )
        last = max(row["passes"] for row in own)
        for method in dict.fromkeys(row["method"] for row in own):
            cells = [reached(own, method, level) for level in LEVELS]
            shown = [f"{c[0]:.0f} ({c[1]:.2f})" if c else "-" for c in cells]
            ends = [r["test_error"] for r in own if r["method"] == method and r["passes"] == last]
            error = f"{100 * np.median(ends):9.2f} %"
            lines.append(f"    {method:18s}" + "".join(f"{c:>16s}" for c in shown) + error)
    return "\n".join(lines)


def write(rows: list[dict[str, Any]], folder: Path, kind: str = "png") -> list[Path]:
    """curves.csv, and a figure for each data set and alpha."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    from maxmargin.plotting import CurvesDisplay

    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "curves.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    made = [folder / "curves.csv"]
    for data, alpha, own in groups(rows):
        figure, axes = plt.subplots(2, 2, figsize=(9, 6.4), layout="constrained")
        for row, y in enumerate(("suboptimality", "test_error")):
            for column, x in enumerate(("passes", "seconds")):
                shown = CurvesDisplay(own).plot(x=x, y=y, ax=axes[row, column])
        handles = list(shown.lines_.values())
        figure.legend(handles=handles, loc="outside upper center", ncols=4, frameon=False)
        figure.suptitle(f"{data}, alpha = {alpha:.3g}", x=0.01, ha="left", fontsize="medium")
        path = folder / f"{data}_{alpha:.3g}.{kind}"
        figure.savefig(path, dpi=80)
        plt.close(figure)
        made.append(path)
    return made


def parse(options: Sequence[str]) -> argparse.Namespace:
    """The command's options."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks curves")
    parser.add_argument("--out", type=Path, metavar="FOLDER", help="write figures and curves.csv")
    parser.add_argument("--full", action="store_true", help="ten seeds, 40 and 14 passes")
    parser.add_argument("--seeds", type=int, help="runs of each random method (2; full: 10)")
    parser.add_argument("--passes", type=int, help="passes over the data in each run")
    parser.add_argument("--data", nargs="+", choices=list(TASKS), default=list(TASKS))
    parser.add_argument("--alphas", nargs="+", metavar="A", help='numbers or "1/n"')
    parser.add_argument("--methods", nargs="+", choices=list(methods()), default=list(methods()))
    parser.add_argument("--jobs", type=int, default=2, help="processes (2)")
    parser.add_argument("--format", choices=["png", "svg"], default="png")
    found = parser.parse_args(options)
    found.seeds = found.seeds or (10 if found.full else 2)
    found.alphas = found.alphas or (["0.01", "0.001", "1/n"] if found.full else ["0.01", "1/n"])
    usual = FULL_PASSES if found.full else SHORT_PASSES
    found.passes = {name: found.passes or usual[name] for name in TASKS}
    if min(found.seeds, found.jobs, *found.passes.values()) < 1:
        parser.error("--seeds, --passes and --jobs must be 1 or more")
    return found


def main(options: Sequence[str] = ()) -> None:
    chosen, tasks = parse(options), []
    for name in chosen.data:
        make, place = TASKS[name]
        folder = data_folder(place)
        if folder is None:
            continue
        task = make(folder)
        size = f"{task.problem.n} sequences, {task.problem.dim} weights"
        print(f"  {name}: {size}, {task.n_labels} held-out labels", flush=True)
        tasks.append(task)
        _TASKS[name] = task
    if not tasks:
        return
    find_optima(tasks, chosen.alphas, chosen.jobs)
    begun = time.perf_counter()
    rows = measure(tasks, chosen.alphas, chosen.methods, chosen.seeds, chosen.passes, chosen.jobs)
    print(f"  {len(rows)} moments measured in {time.perf_counter() - begun:.0f} s")
    print(table(rows))
    if chosen.out is not None:
        for path in write(rows, chosen.out, chosen.format):
            print(f"  wrote {path}")
