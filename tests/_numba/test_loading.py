"""While compiled code is loaded, signals wait: raising there makes numba write to address 0."""

import os
import signal
import threading

import pytest

from maxmargin._numba.compile import announce_compilation


def interrupt(number=signal.SIGINT):
    os.kill(os.getpid(), number)


def test_a_signal_is_handled_when_the_code_is_compiled():
    reached = []

    def load():
        with announce_compilation():
            with announce_compilation():
                interrupt()
                reached.append("the end of the inner block")
            reached.append("the end")

    with pytest.raises(KeyboardInterrupt):
        load()
    assert reached == ["the end of the inner block", "the end"]
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_a_second_signal_is_not_kept_waiting():
    reached = []

    def load():
        with announce_compilation():
            interrupt()
            reached.append("first")
            interrupt()
            reached.append("second")

    with pytest.raises(KeyboardInterrupt):
        load()
    assert reached == ["first"]


def test_other_handlers_are_called_and_put_back():
    seen = []

    def handler(number, frame):
        seen.append(number)

    before = signal.signal(signal.SIGTERM, handler)
    try:
        with announce_compilation():
            interrupt(signal.SIGTERM)
            assert seen == []
        assert seen == [signal.SIGTERM]
        assert signal.getsignal(signal.SIGTERM) is handler
    finally:
        signal.signal(signal.SIGTERM, before)


def test_threads_load_without_touching_signals():
    found = []

    def load():
        with announce_compilation():
            found.append(signal.getsignal(signal.SIGINT))

    thread = threading.Thread(target=load)
    thread.start()
    thread.join()
    assert found == [signal.default_int_handler]
