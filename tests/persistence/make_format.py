"""Write the models that stand for the present file format, once, when the format is new.

    PYTHONPATH=src:tests python tests/persistence/make_format.py

Folders of older formats are never written anew: later versions must go on reading them.
"""

import json
from pathlib import Path

import maxmargin
from maxmargin.persistence.model_file import VERSION
from persistence.model_files import made

KINDS = ("words", "dicts", "classes", "chains", "matchings", "aligned")


def metrics(model, X):
    """What a loaded model must say, as JSON holds it exactly; no texts that may be worded anew."""
    outputs = [y.tolist() if hasattr(y, "tolist") else y for y in model.predict(X)]
    outputs = json.loads(json.dumps(outputs))  # no tuples
    return {
        "class": type(model).__name__,
        "alpha": model.alpha,
        "classes": model.classes_.tolist() if hasattr(model, "classes_") else [],
        "coef": [float(w).hex() for w in model.coef_],
        "predictions": outputs,
        "status": model.result_.status.value,
        "records": len(model.result_.history),
        "primal": float(model.result_.primal).hex(),
    }


def main():
    folder = Path(__file__).parent / f"format_{VERSION}"
    folder.mkdir(exist_ok=True)
    for name in KINDS:
        model, X = made(name)
        if (folder / f"{name}.mm").exists():
            continue  # kinds of models may join a format, none is written twice
        model.save(folder / f"{name}.mm")
        X = [x.tolist() for x in X if hasattr(x, "tolist")][:5] or list(X)[:5]
        recorded = {"X": X, "facts": metrics(maxmargin.load(folder / f"{name}.mm"), X)}
        text = json.dumps(recorded, ensure_ascii=False) + "\n"
        (folder / f"{name}.json").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
