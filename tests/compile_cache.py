"""Compile all functions before the tests of a large run, the work shared out among its workers."""

import hashlib


def compile_all(worker: int, workers: int) -> None:
    """Compile all functions into the cache, each worker beginning with others.

    Left to the tests, all workers would compile most of them at the same time, each for itself.
    """
    from maxmargin._numba.compile import functions_of, list_modules
    from maxmargin._numba.digests import digest_function
    from maxmargin._numba.disk_cache import cache_folder

    functions = list(dict.fromkeys(f for name in list_modules() for f in functions_of(name)))
    state = hashlib.sha256("".join(map(digest_function, functions)).encode()).hexdigest()[:24]
    done = cache_folder() / f"complete-{state}"
    if done.exists():
        return
    first = worker * len(functions) // workers
    for function in functions[first:] + functions[:first]:
        function.compile()
    done.parent.mkdir(parents=True, exist_ok=True)
    done.touch()
