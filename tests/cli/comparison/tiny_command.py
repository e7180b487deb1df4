"""A task small enough for tests: label sequences, one JSON document a line."""

import json
import os
import signal
import time
from pathlib import Path

import numpy as np

from maxmargin import ChainSVM
from maxmargin.tasks.registry import Data, Option, TaskCommand


class TinyCommand(TaskCommand):
    name = "tiny"
    title = "Tiny sequences"
    summary = "A label for each row."
    data_help = "JSON lines."
    predict_help = "Nothing."
    examples = ()
    options = (
        Option("crash-at", int, 0, "End the process by a signal at that training size."),
        Option("raise-at", int, 0, "Raise an error at that training size."),
        Option("sleep-at", int, 0, "Sleep for an hour at that training size."),
        Option("words", Path, None, "A file more."),
    )

    def read(self, paths, options):
        self.given = options
        lines = [line for path in paths for line in path.read_text().splitlines()]
        samples = [json.loads(line) for line in lines]
        inputs = [np.array(sample["x"]) for sample in samples]
        outputs = [np.array(sample["y"]) for sample in samples]
        counts = {"files": len(paths), "sequences": len(inputs)}
        return Data(inputs, outputs, counts)

    def estimator(self, options):
        return ChainSVM(max_epochs=5)

    def fit(self, model, data, folder=None):
        print("a task may print")
        if len(data) == self.given["crash-at"]:
            os.kill(os.getpid(), signal.SIGKILL)
        if len(data) == self.given["raise-at"]:
            raise RuntimeError("made to fail")
        if len(data) == self.given["sleep-at"]:
            time.sleep(3600)
        if folder is not None:
            with (folder / "fits").open("a") as stream:
                stream.write(f"{len(data)}\n")
        model.fit(data.inputs, data.outputs)

    def take(self, data, indices):
        return Data([data.inputs[i] for i in indices], [data.outputs[i] for i in indices])

    def predict(self, model, sources, sink, options):
        return 0

    def evaluate(self, model, data, shown=12):
        assert shown == 0
        error = 1.0 - model.score(data.inputs, data.outputs)
        return {
            "data": {},
            "error": error,
            "error_name": "label error",
            "metrics": [],
            "tables": [],
            "confusion": None,
            "drawings": [],
        }

    def describe(self, model):
        return []


def write_samples(path, count, seed=0):
    rng = np.random.default_rng(seed)
    with path.open("w") as stream:
        for _ in range(count):
            y = rng.integers(0, 3, size=4)
            x = np.eye(3)[y] + rng.normal(size=(4, 3))
            stream.write(json.dumps({"x": x.tolist(), "y": y.tolist()}) + "\n")
