"""Folders as `train` and `compare` leave them, small, with text that tries to break out."""

import base64
import json
import zlib
from pathlib import Path

import numpy as np

SCRIPT = "<script>alert(1)</script>"
NASTY = (
    SCRIPT,
    "\"quoted\" & 'single'",
    "</script><img src=x onerror=alert(2)>",
    "שלום",  # Hebrew, right to left
    "مرحبا",  # Arabic, right to left
    "\u202eoverride",  # steers the direction of all that follows
    "🦉🇺🇳",
    "null\x00byte\x1b[31m",
    "line\nbreak\ttab",
    "\ud800 lone surrogate",
    "javascript:alert(3)",
    "{{7*7}}${1}",
)


def history(epochs=30, rate=1.0, with_error=True, seconds=0.05):
    """Records of a run that converges like 1 / epoch."""
    records = []
    for k in range(1, epochs + 1):
        gap = 0.9 / k**rate
        records.append(
            {
                "epoch": k,
                "seconds": seconds * k,
                "n_oracle": 200 * k,
                "n_project": 0,
                "primal": 0.31 + 0.6 * gap,
                "dual": 0.31 - 0.4 * gap,
                "gap": gap,
                "norm_w": 1.0 + k,
                "train_error": 0.2 / k if with_error else None,
                "validation_score": 0.9 - 0.1 / k if with_error else None,
            }
        )
    return records


def tokens_drawing(title="sentence 7", tokens=("the", "old", "house"), wrong=1):
    truth = ["B-NP", "I-NP", "I-NP", *["O"] * len(tokens)][: len(tokens)]
    predicted = [("B-VP" if k < wrong else tag) for k, tag in enumerate(truth)]
    return {
        "kind": "tokens",
        "title": title,
        "errors": wrong,
        "truth_known": True,
        "tokens": list(tokens),
        "truth": truth,
        "predicted": predicted,
    }


def outline_drawing(title="tree 1", names=("root", "child", "grandchild"), wrong=1):
    truth = ["noun", "verb", *["O"] * len(names)][: len(names)]
    predicted = [("other" if k < wrong else label) for k, label in enumerate(truth)]
    return {
        "kind": "outline",
        "title": title,
        "errors": wrong,
        "truth_known": True,
        "tokens": list(names),
        "depth": list(range(len(names))),
        "truth": truth,
        "predicted": predicted,
    }


def images_drawing(rng, word="order", wrong=1):
    images = [(rng.random(16 * 8) < 0.3).astype(float).tolist() for _ in word]
    predicted = [("q" if k < wrong else letter) for k, letter in enumerate(word)]
    return {
        "kind": "images",
        "title": f"word {word}",
        "errors": wrong,
        "truth_known": True,
        "images": images,
        "height": 16,
        "width": 8,
        "truth": list(word),
        "predicted": predicted,
    }


def links_drawing(source, target, title="pair 3"):
    n = min(len(source), len(target))
    sure = [[k, k] for k in range(n)]
    possible = [*sure, *([k, k + 1] for k in range(n - 1))]
    predicted = [[k, k] for k in range(n - 1)] + [[n - 1, 0]]
    return {
        "kind": "links",
        "title": title,
        "errors": 2,
        "truth_known": True,
        "source": list(source),
        "target": list(target),
        "sure": sure,
        "possible": possible,
        "predicted": predicted,
    }


def areas_drawing(rng, title="scan 1", picture=True):
    height, width = 9, 14
    codes = rng.integers(0, 5, height * width, dtype=np.uint8)
    drawing = {
        "kind": "areas",
        "title": title,
        "errors": int((codes > 2).sum()),
        "truth_known": True,
        "maps": [
            {"name": name, "height": height, "width": width, "codes": packed(codes)}
            for name in ("from above", SCRIPT)
        ],
        "labels": ["ground", SCRIPT],
    }
    if picture:
        drawing["picture"] = packed(rng.integers(0, 256, 3 * height * width, dtype=np.uint8))
    return drawing


def packed(values):
    return base64.b64encode(zlib.compress(values.tobytes())).decode()


def evaluation(rng, drawings, error=0.0731):
    labels = ["B-NP", "I-NP", "B-VP", "O", SCRIPT]
    counts = rng.integers(0, 9, (5, 5)) + np.diag([310, 280, 90, 150, 4])
    scores = [[name, int(counts[k].sum()), 0.9 - 0.1 * k, None] for k, name in enumerate(labels)]
    return {
        "data": {"files": 'dev "1" <b>.txt', "sentences": 200, "tokens": 4711},
        "error": error,
        "error_name": "token error",
        "metrics": [
            metric("token error", error, "lower", True),
            metric("F1 of chunks", 0.913, "higher", True),
            metric("mean margin", 1.25, "neither", False),
            metric("not known", None, "higher", False),
        ],
        "tables": [
            {
                "title": "By label",
                "columns": ["label", "count", "F1", "empty"],
                "rows": scores,
                "note": "F1 is the harmonic mean of precision and recall.",
            }
        ],
        "confusion": {"labels": labels, "counts": counts.tolist()},
        "drawings": drawings,
        "reliability": [[0.41, 0.3, 12], [0.7, 0.75, 40], [0.97, 0.99, 4659]],
    }


def metric(name, value, better, percent):
    return {
        "name": name,
        "value": value,
        "better": better,
        "percent": percent,
        "help": "what it is",
    }


def make_run(folder: Path, records=None) -> Path:
    """A run folder with two evaluations, all kinds of drawings and hostile strings."""
    rng = np.random.default_rng(0)
    (folder / "evaluations").mkdir(parents=True)
    drawings = [
        tokens_drawing("hostile " + SCRIPT, NASTY, wrong=3),
        images_drawing(rng),
        areas_drawing(rng, SCRIPT),
        outline_drawing(SCRIPT, NASTY),
        links_drawing(NASTY, [*NASTY[::-1], "last"]),
        links_drawing([f"w{k}" for k in range(60)], [f"v{k}" for k in range(70)], "a long pair"),
        *(tokens_drawing(f"sentence {k}") for k in range(8)),
        {"kind": "unheard-of", "title": SCRIPT, "errors": 0, "truth_known": False, "x": [SCRIPT]},
    ]
    write(folder / "evaluations" / "validation.json", evaluation(rng, drawings))
    write(folder / "evaluations" / "train.json", evaluation(rng, drawings[1:2], 0.0112))
    features = [["B-NP", f"word={k}", 2.0 - 0.1 * k] for k in range(40)]
    features += [[text, text, -0.5] for text in NASTY]
    summary = {
        "task": "tagging",
        "title": f"Tagging {SCRIPT}",
        "status": "converged",
        "message": "",
        "certificate": "within 0.1 % of the best possible objective (converged after 30 epochs)",
        "primal": 0.328,
        "dual": 0.298,
        "gap": 0.03,
        "relative_gap": 0.0915,
        "n_epochs": 30,
        "seconds": 1.5,
        "n_oracle": 6000,
        "n_project": 0,
        "n_weights": 123456,
        "n_samples": 200,
        "solver": "bcfw",
        "alpha": 0.01,
        "loss": "hamming",
        "tables": [
            {
                "title": "Strongest features",
                "columns": ["label", "feature", "weight"],
                "rows": features,
                "note": "",
            }
        ],
        "metrics": {"train": {"token error": 0.0112}, "validation": {"token error": 0.0731}},
    }
    write(folder / "summary.json", summary)
    write(folder / "environment.json", environment())
    files = [{"name": f"train {SCRIPT}.txt", "size": 2842164, "sha256": "ab" * 32}]
    write(folder / "data.json", {"files": files, "counts": {"sentences": 200, "tokens": 4711}})
    (folder / "config.toml").write_text(f'task = "tagging"\ndata = ["{SCRIPT}"]\n')
    lines = [json.dumps(record) for record in (history() if records is None else records)]
    (folder / "history.jsonl").write_text("\n".join(lines) + '\n{"epoch": 31, "cut off')
    return folder


def environment():
    return {
        "versions": {"maxmargin": "0.1.0", "numpy": "2.1.0"},
        "machine": {"cpu": SCRIPT, "cores": 2},
        "command": ["maxmargin", "train", "tagging", "--data", SCRIPT],
        "started": "2026-11-16T09:30:00+00:00",
    }


def make_comparison(folder: Path) -> Path:
    """A comparison of three solvers at three sizes with two seeds; one cell failed."""
    (folder / "runs").mkdir(parents=True)
    solvers = ["bcfw", "dual-extragradient", SCRIPT]
    sizes, exponents = [100, 400, 1600], []
    for k, solver in enumerate(solvers):
        for size in sizes:
            for seed in (0, 1):
                run = comparison_run(k, solver, size, seed)
                write(folder / "runs" / f"solver{k}-{size}-{seed}.json", run)
        for quantity, power in (("seconds", 1.04 + 0.2 * k), ("peak_bytes", 0.4)):
            own = {"solver": solver, "quantity": quantity, "exponent": power}
            exponents.append(own | {"low": power - 0.05, "high": power + 0.05})
    comparison = {
        "task": "alignment",
        "title": f"Word alignment {SCRIPT}",
        "solvers": solvers,
        "sizes": sizes,
        "seeds": 2,
        "size_name": "sentence pairs",
        "counts": {"files": "dev.e, dev.f"},
        "runs": 18,
        "failed": [f"{SCRIPT}-1600-1"],
        "rows": [],
        "exponents": exponents,
    }
    write(folder / "comparison.json", comparison)
    write(folder / "environment.json", environment())
    (folder / "comparison.toml").write_text('task = "alignment"\nsizes = [100, 400, 1600]\n')
    return folder


def comparison_run(k, solver, size, seed):
    failed = k == 2 and size == 1600 and seed == 1
    seconds = 0.01 * size ** (1.04 + 0.2 * k) * (1 + 0.1 * seed) / 10
    records = history(12 + 4 * k, 0.7 + 0.3 * k, seconds=seconds / 12)
    if k == 2:  # a perceptron has no certificate
        records = [r | {"gap": None, "dual": None, "primal": None} for r in records]
    return {
        "solver": solver,
        "size": size,
        "seed": seed,
        "status": "failed" if failed else "converged",
        "message": f"out of memory {SCRIPT}" if failed else "",
        "seconds": None if failed else seconds,
        "wall_seconds": seconds + 1,
        "compile_seconds": 0.5,
        "n_oracle": 20 * size,
        "n_project": 20 * size if k == 1 else 0,
        "peak_bytes": int(2e8 + 1e4 * size * (k + 1)),
        "base_bytes": int(1.8e8),
        "primal": 0.3,
        "dual": 0.29,
        "gap": 0.01,
        "relative_gap": 0.033 / (k + 1),
        "n_epochs": 12,
        "train_error": 0.05,
        "test_error": 0.3 / size**0.2 + 0.01 * seed,
        "error_name": "1 - F1",
        "history": [] if failed else records,
    }


def write(path: Path, document) -> None:
    path.write_text(json.dumps(document), encoding="utf-8")
