"""Processes of a comparison: one for each run, watched, and ended when its time is over."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
KEPT = 2000  # characters of what a crashed process said last


class ComparisonRunError(Exception):
    """A run could not be measured."""


def run_in_process(
    request: Mapping[str, Any], *, threads: int = 1, seconds: float | None = None
) -> dict[str, Any]:
    """What a fresh process answers to that request; a `ComparisonRunError` if nothing.

    seconds : the process is ended then.
    """
    command = [sys.executable, "-P", "-m", "maxmargin.cli.comparison.measure"]
    with tempfile.TemporaryFile() as stderr:
        process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=stderr,
            env=_environment(threads),
        )
        late = threading.Event()
        timer = threading.Timer(seconds or 0.0, _end, (process, late))
        timer.daemon = True
        if seconds is not None:
            timer.start()
        try:
            text = _talk(process, json.dumps(request))
        finally:
            timer.cancel()
            process.kill()
            process.wait()
        if late.is_set():
            raise ComparisonRunError(f"not done after {seconds:g} s; the process was ended")
        return _parsed(text, process.returncode, stderr)


def _talk(process: subprocess.Popen, line: str) -> bytes:
    assert process.stdin is not None
    assert process.stdout is not None
    with suppress(BrokenPipeError):  # it died early; its last words say why
        process.stdin.write(line.encode() + b"\n")
        process.stdin.flush()
    text = process.stdout.read()
    process.wait()
    process.stdout.close()
    with suppress(BrokenPipeError):
        process.stdin.close()
    return text


def _parsed(text: bytes, code: int, stderr: Any) -> dict[str, Any]:
    if code == 0:
        answer = json.loads(text)
        if "error" in answer:
            raise ComparisonRunError(answer["error"])
        return answer
    stderr.seek(0)
    last = stderr.read().decode(errors="replace")[-KEPT:].strip()
    raise ComparisonRunError(_why(code) + (f": {last}" if last else ""))


def _why(code: int) -> str:
    if code > 0:
        return f"the process ended with code {code}"
    try:
        name = signal.Signals(-code).name
    except ValueError:
        name = f"signal {-code}"
    hint = " (out of memory?)" if name == "SIGKILL" else ""
    return f"the process was ended by {name}{hint}"


def _end(process: subprocess.Popen, late: threading.Event) -> None:
    late.set()
    process.kill()


def _environment(threads: int) -> dict[str, str]:
    """This process's own, with as many threads as asked for, and the same modules in reach."""
    path = os.pathsep.join(entry for entry in sys.path if entry)
    return {**os.environ, **dict.fromkeys(THREADS, str(threads)), "PYTHONPATH": path}
