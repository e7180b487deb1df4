"""Text of any length is tagged in the same memory."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

import maxmargin
from maxmargin.tasks import SequenceTagger

PROGRAM = """
import io, sys
from maxmargin import load
from maxmargin.memory import peak_bytes
from maxmargin.tasks.registry import find_task_command

class Endless(io.RawIOBase):
    "So many sentences, made as they are read."
    def __init__(self, count):
        self.left, self.at = count, 0
    def readable(self):
        return True
    def readinto(self, buffer):
        text = b""
        while self.left and len(text) + 400 < len(buffer):
            words = [b"word%d NN\\n" % ((self.at * 7919 + k) % 50021) for k in range(20)]
            text += b"".join(words) + b"\\n"
            self.at, self.left = self.at + 1, self.left - 1
        buffer[:len(text)] = text
        return len(text)

class Counted(io.RawIOBase):
    lines = 0
    def write(self, data):
        self.lines += bytes(data).count(b"\\n")
        return len(data)

model, count = load(sys.argv[1]), int(sys.argv[2])
sink = Counted()
found = find_task_command("tagging").predict(model, [io.BufferedReader(Endless(count), 1 << 16)],
    sink, {})
print(found, sink.lines, peak_bytes() >> 20)
"""


def peak_memory(model, sentences):
    """MB at most of a process that tags n sentences of 20 tokens."""
    environment = os.environ | {"PYTHONPATH": str(Path(maxmargin.__file__).parents[1])}
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(model), str(sentences)],
        env=environment,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    found, lines, peak = map(int, done.stdout.split())
    assert (found, lines) == (sentences, 21 * sentences)
    return peak


@pytest.mark.soak
@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="memory is read from /proc")
def test_a_million_tokens_take_no_more_memory_than_ten_thousand(tmp_path):
    sentences = [[(f"word{k}", "NN"), (f"word{k + 1}", "VB")] for k in range(2000)]
    tagger = SequenceTagger(max_epochs=2, tol=1.0)
    tagger.fit(sentences, [["A", "B"], ["B", "A"]] * 1000).save(tmp_path / "model")
    short, long = (peak_memory(tmp_path / "model", n) for n in (500, 50_000))
    print(f"peak memory: {short} MB for 10,000 tokens, {long} MB for 1,000,000")
    assert long < short + 40
