"""Compile all functions before the tests of a large run, once for all of its workers."""

import hashlib

from filelock import FileLock


def compile_all() -> None:
    """Compile all functions into the cache.

    Left to the tests, all workers would compile most of them at the same time, each for itself. So
    one does it, with helpers on the other cores, while the others wait for its lock.
    """
    from maxmargin._numba.compile import functions_of, list_modules
    from maxmargin._numba.digests import digest_function
    from maxmargin._numba.disk_cache import cache_folder
    from maxmargin._numba.schedules import compile_functions

    functions = list(dict.fromkeys(f for name in list_modules() for f in functions_of(name)))
    state = hashlib.sha256("".join(map(digest_function, functions)).encode()).hexdigest()[:24]
    done = cache_folder() / f"complete-{state}"
    done.parent.mkdir(parents=True, exist_ok=True)
    with FileLock(done.parent / "complete.lock"):
        if not done.exists():
            with compile_functions(functions):
                pass
            done.touch()
