"""The program of a worker: answers calls of one function that come through a pipe.

It is run by its path and imports nothing of the package, so that it is there in a moment. Messages
are pickles with their length before them. They come from the process that started it only.
"""

import os
import pickle
import queue
import signal
import struct
import sys
import threading
import traceback
from typing import Any, BinaryIO

LENGTH = struct.Struct("<Q")
#: said when all is loaded that a call needs, if calls have a time limit; and by who has no work
BEGUN, LEFT = b"begun", b"left"


def send_message(stream: BinaryIO, message: Any) -> None:
    """Write a message whole."""
    write_message(stream, pickle.dumps(message, protocol=pickle.HIGHEST_PROTOCOL))


def write_message(stream: Any, data: bytes) -> None:
    """Write bytes as a message."""
    stream.write(LENGTH.pack(len(data)) + data)
    stream.flush()


def receive_message(stream: Any) -> bytes | None:
    """Read a message, as bytes; None if the other side is gone."""
    head = stream.read(LENGTH.size)
    if len(head) < LENGTH.size:
        return None
    (size,) = LENGTH.unpack(head)
    data = stream.read(size)
    return data if len(data) == size else None


def _listen(source: BinaryIO, inbox: queue.SimpleQueue) -> None:
    """Hand on what comes; when the parent is gone, nobody waits for an answer."""
    while True:
        data = receive_message(source)
        if data is None:
            os._exit(0)
        inbox.put(data)


def _failure(error: BaseException) -> tuple:
    """What can be sent of an exception: itself if it can be pickled, and how it looked."""
    text = "".join(traceback.format_exception(error))
    try:
        kept = pickle.dumps(error)
        pickle.loads(kept)
    except Exception:
        kept = None
    return ("error", type(error).__name__, str(error), text, kept)


def _output(function: Any, with_layout: bool, theta: Any, layout: Any) -> tuple:
    try:
        found = function(theta, layout) if with_layout else function(theta)
        pickle.dumps(found)
    except BaseException as error:  # sys.exit, too, is not an answer
        return _failure(error)
    return ("output", found)


def serve_requests() -> None:
    """Load the function, say so, and answer until nothing was asked for a while."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent decides what an interrupt means
    source, sink = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(2, 1)  # what the function prints must not get among the answers
    inbox: queue.SimpleQueue = queue.SimpleQueue()
    threading.Thread(target=_listen, args=(source, inbox), daemon=True).start()
    path, idle, is_timed = pickle.loads(inbox.get())
    sys.path[:] = path
    try:
        function, with_layout = pickle.loads(inbox.get())
    except Exception as error:
        send_message(sink, _failure(error))
        return
    send_message(sink, ("ready",))
    while True:
        try:
            data = inbox.get(timeout=idle)
        except queue.Empty:
            write_message(sink, LEFT)
            os._exit(0)
        theta, layout = pickle.loads(data)  # may import numpy, or what the layout is made of
        if is_timed:
            write_message(sink, BEGUN)
        send_message(sink, _output(function, with_layout, theta, layout))


if __name__ == "__main__":
    serve_requests()
