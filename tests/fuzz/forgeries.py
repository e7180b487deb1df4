"""Model files and checkpoints forged field by field, and used in a child process that may die.

    python -m fuzz.forgeries FOLDER SEED FIRST LAST [NAME ...]

tries the forgeries FIRST to LAST - 1 and writes what came of each to FOLDER/outcomes, a line each;
a process that ends early was killed by the one after the last line. Errors of compiled code that is
called by pointer, as under NUMBA_BOUNDSCHECK=1, are only printed: standard error is looked at, too.
"""

import io
import json
import os
import re
import resource
import signal
import subprocess
import sys
import warnings
import zipfile
from collections import Counter
from contextlib import suppress
from copy import deepcopy
from functools import cache
from pathlib import Path

import numpy as np

#: seconds of computing, and bytes, for each forgery
SECONDS, MEMORY = 60, 3 << 30
#: what a file may be refused with, or a use of what it holds
CLEAN = (ValueError, TypeError, FloatingPointError)

NUMBERS = [
    -1, 0, 1, 2, 0.5, -0.5, 1000, 2**31, 2**62, -(2**63), 10**19, 1e300, True, None, "text", [], {},
    *({"is": "float", "value": value} for value in ("nan", "inf", "-inf")),
    {"is": "count", "start": 0, "length": -1}, {"is": "count", "start": 0, "length": 10**9},
]  # fmt: skip
ADDED = [
    "compiled", "as_ints", "order", "index", "links", "_hash", "_key", "extra", "outputs",
    "average", "memory", "basis_", "_in_coordinates", "is_exact", "predict", "__class__",
    "__dict__", "_pool", "kernel", "n_parts", "coef_", "structure_", "feature_map_", "result_",
    "numbers", "binary",
]  # fmt: skip
DTYPES = ["f4", "i8", "i4", "u1", "?", ">f8", "c16", "S3", "f8", "u8"]


# -- forging ---------------------------------------------------------------------------------------
def taken_apart(path):
    """The tree of a file as text, and its arrays by name."""
    with zipfile.ZipFile(path) as archive:
        tree = json.loads(archive.read("header.json"))["model"]
        names = [name for name in archive.namelist() if name != "header.json"]
        return tree, {name: np.load(io.BytesIO(archive.read(name))) for name in names}


def places(tree):
    """All places of a tree, as (container, key)."""
    for key, value in list(tree.items() if isinstance(tree, dict) else enumerate(tree)):
        yield tree, key
        if isinstance(value, dict | list):
            yield from places(value)


def forged(tree, arrays, rng):
    """The same with a change or a few, that keep to the format."""
    from maxmargin.persistence.registry import known_names

    tree, arrays = deepcopy(tree), dict(arrays)
    for _ in range(int(rng.geometric(0.8))):
        known = [place for place in places(tree) if place[1] != "is" or rng.random() < 0.02]
        container, key = known[rng.integers(len(known))]
        value = container[key]
        if rng.random() < 0.1:
            other, name = known[rng.integers(len(known))]
            container[key], other[name] = other[name], value
        elif isinstance(value, str) and value in arrays:
            arrays[value] = _other_array(arrays[value], rng)
        elif isinstance(container, dict) and container.get("class") == value and key == "class":
            container[key] = str(rng.choice(known_names()))
        elif isinstance(value, dict) and key in ("facts", "options"):
            _change_names(value, known, rng)
        elif isinstance(value, list) and value:
            _change_list(value, rng)
        elif isinstance(value, str) and rng.random() < 0.7:
            texts = [own[at] for own, at in known if isinstance(own[at], str)]
            container[key] = texts[rng.integers(len(texts))]
        else:
            container[key] = deepcopy(NUMBERS[rng.integers(len(NUMBERS))])
    return tree, arrays


def _change_names(named, known, rng):
    if named and rng.random() < 0.4:
        del named[list(named)[rng.integers(len(named))]]
        return
    values = [NUMBERS[rng.integers(len(NUMBERS))]]
    container, key = known[rng.integers(len(known))]
    values.append(container[key])
    values.append({"is": "dict", "keys": ["maximize"], "values": ["matching"]})
    named[str(rng.choice(ADDED))] = deepcopy(values[rng.integers(3)])


def _change_list(items, rng):
    which, at = rng.integers(4), int(rng.integers(len(items)))
    if which == 0:
        del items[at]
    elif which == 1:
        items.insert(at, deepcopy(items[-1]))
    elif which == 2:
        items.reverse()
    else:
        items[at] = deepcopy(NUMBERS[rng.integers(len(NUMBERS))])


def _other_array(array, rng):
    which = rng.integers(9)
    if which == 0:
        return np.concatenate([array, array[:1]]) if array.ndim and len(array) else np.zeros(3)
    if which == 1:
        return array[:-1].copy() if array.ndim else array
    if which == 2:
        with warnings.catch_warnings(), suppress(ValueError):  # texts that are not numbers
            warnings.simplefilter("ignore")
            return array.astype(DTYPES[rng.integers(len(DTYPES))])
    if which == 3:
        return array[None].copy() if rng.random() < 0.5 else array.ravel().copy()
    if which == 4:
        return np.asfortranarray(array.T) if array.ndim > 1 else np.atleast_1d(array)[::-1].copy()
    if which == 5:
        return array[:0].copy() if array.ndim else np.zeros(0)
    if array.size == 0:
        return np.ones(4, dtype=array.dtype)
    changed = array.copy()
    values = [np.nan, np.inf, -1e300, 0.5, -1.0, 1e300]
    if array.dtype.kind in "iu":
        limits = np.iinfo(array.dtype)
        values = [-1, limits.max, limits.min, array.size, 0, 10**6, 1]
        values = [int(np.clip(value, limits.min, limits.max)) for value in values]
    if array.dtype.kind in "fiu":
        where = rng.integers(array.size, size=1 if which < 8 else array.size)
        changed.flat[where] = values[rng.integers(len(values))]
    if array.dtype.kind == "U" and array.size == 1:
        numbers = list(re.finditer(r"\d+", array.item()))
        if numbers:  # in JSON, say
            begin, end = numbers[rng.integers(len(numbers))].span()
            number = [-1, 0, 2**31 - 1, 10**40, "[" * 10**4][rng.integers(5)]
            return np.array(f"{array.item()[:begin]}{number}{array.item()[end:]}").reshape(
                array.shape
            )
    return changed


# -- using -----------------------------------------------------------------------------------------
def use_model(path, name):
    """Load, predict, and fit again with limits of our own."""
    import maxmargin
    from fuzz.zoo import CASES

    model = maxmargin.load(path)
    _, fit, predict = CASES[name]()
    yield "loaded"
    if hasattr(model, "predict"):
        yield from _tried(lambda: model.predict(*predict), "predicted")
        model.set_params(max_epochs=3, time_limit=2.0, verbose=0)
        yield from _tried(lambda: model.fit(*fit), "fitted")


def use_checkpoint(path, name):
    """Go on with the run."""
    from fuzz.runs import RUNS
    from maxmargin.callbacks import TimeLimit
    from maxmargin.persistence.checkpoints import Checkpoint

    solver, problem = RUNS[name]()
    yield from _tried(
        lambda: solver.run(problem, callbacks=[Checkpoint(path, resume=True), TimeLimit(2.0)]),
        "resumed",
    )


def _tried(act, done):
    try:
        act()
    except CLEAN as error:
        yield f"refused ({type(error).__name__})"
    else:
        yield done


def _use(name):
    from fuzz.zoo import CASES

    return use_model if name in CASES else use_checkpoint


def original_path(folder, name):
    return Path(folder) / f"{name.replace(' ', '-')}.original"


@cache
def originals(folder, names):
    """The files that are forged, by the names of what is in them."""
    from fuzz.runs import write_run
    from fuzz.zoo import CASES, fitted

    found = {}
    for name in names:
        path = original_path(folder, name)
        if not path.exists():
            partial = path.with_suffix(f".{os.getpid()}")
            fitted(name).save(partial) if name in CASES else write_run(name, partial)
            partial.rename(path)
        found[name] = taken_apart(path)
    return found


def attempt(folder, seed, number, names):
    """What came of one forgery, in words."""
    from maxmargin.exceptions import ModelFileError
    from maxmargin.persistence.model_file import write_model

    rng = np.random.default_rng([seed, number])
    name = names[number % len(names)]
    tree, arrays = forged(*originals(folder, tuple(names))[name], rng)
    path = Path(folder) / f"{os.getpid()}.forged"
    try:
        write_model(path, tree, [arrays[f"a{k}.npy"] for k in range(len(arrays))])
    except (ValueError, KeyError, RecursionError):  # put inside itself, or no such dtype
        return f"{name}: not written"
    words = []
    try:
        for word in _use(name)(path, name):
            words.append(word)
    except ModelFileError:
        words.append("refused at load")
    except Exception as error:  # what must not happen
        words.append(f"WRONG {type(error).__name__}: {error}")
    return f"{name}: {', '.join(words)}"


def _limit(seconds):
    """Unhandled signals: the end of the process. A busy machine may take longer by the clock."""
    signal.setitimer(signal.ITIMER_PROF, seconds)
    signal.setitimer(signal.ITIMER_REAL, 12 * seconds)


def main(folder, seed, first, last, *names):
    """The child's work."""
    from fuzz.runs import RUNS
    from fuzz.zoo import CASES

    warnings.simplefilter("ignore")
    names = names or [*CASES, *RUNS]
    folder = Path(folder)
    for name in originals(
        str(folder), tuple(names)
    ):  # compiled code is loaded outside of the limits
        words = list(_use(name)(original_path(folder, name), name))
        assert not any("refused" in word for word in words), (name, words)
    used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + MEMORY, resource.RLIM_INFINITY))
    printed = os.open(folder / f"{os.getpid()}.printed", os.O_RDWR | os.O_CREAT | os.O_TRUNC)
    os.dup2(printed, 2)
    with (folder / "outcomes").open("a", encoding="utf-8") as out:
        for number in range(int(first), int(last)):
            _limit(SECONDS)
            words = attempt(str(folder), int(seed), number, names)
            _limit(0)
            os.lseek(printed, 0, os.SEEK_SET)
            said = os.read(printed, 1 << 20)
            os.ftruncate(printed, 0)
            os.lseek(printed, 0, os.SEEK_SET)
            if b"Error" in said:
                words += f", WRONG printed: {said[-300:].decode(errors='replace')!r}"
            out.write(f"{number} {words}\n".replace("\r", " "))
            out.flush()


# -- the parent ------------------------------------------------------------------------------------
def run(folder, seed, count, names=()):
    """Try `count` forgeries: counts of outcomes, and what went wrong, by number."""
    folder = Path(folder)
    outcomes, first, counts, wrong = folder / "outcomes", 0, Counter(), {}
    while first < count:
        outcomes.unlink(missing_ok=True)
        command = [sys.executable, "-m", "fuzz.forgeries", folder, seed, first, count, *names]
        paths = [str(Path(__file__).parents[1]), os.environ.get("PYTHONPATH", "")]
        environment = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, paths))}
        ended = subprocess.run(
            [str(word) for word in command], env=environment, check=False, capture_output=True
        )
        lines = outcomes.read_text(encoding="utf-8").splitlines() if outcomes.exists() else []
        for line in lines:
            number, _, words = line.partition(" ")
            _, _, came = words.partition(": ")
            counts["wrong" if "WRONG" in came else came.split(" (")[0]] += 1
            if "WRONG" in came:
                wrong[int(number)] = words
        first += len(lines)
        if first < count:
            if not lines and not outcomes.exists():
                raise AssertionError(f"the child did not begin: {ended.stderr.decode()[-2000:]}")
            wrong[first] = f"ended by {ended.returncode}: {ended.stderr.decode()[-300:]}"
            counts["killed"] += 1
            first += 1
    return counts, wrong


if __name__ == "__main__":
    main(*sys.argv[1:])
