"""Rounds on a Ray cluster."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any, ClassVar

from maxmargin.optional import optional_module
from maxmargin.parallel.engines import Engine, TaskLost, check_version

_HINT = 'engine="ray" needs Ray: pip install "maxmargin[ray]"'


class RayEngine(Engine):
    """Tasks of a Ray cluster; shards and states stay in its object store.

    A task whose worker dies is done again by Ray. The object store moves to disk what does not fit
    into memory.

    Parameters
    ----------
    address : str or None, default=None
        Address of the cluster, such as "auto" or "ray://head:10001"; None means the one that this
        process is connected to, or a new one on this machine with n_workers processors, which ends
        with `close`.
    **options : dict
        Those of `Engine`.
    """

    name: ClassVar[str] = "ray"

    def __init__(self, address: str | None = None, **options: Any):
        super().__init__(**options)
        self.address = address
        self._ray = optional_module("ray", _HINT)
        check_version("ray", self._ray.__version__)
        self._started = False
        self._remote: dict[Any, Any] = {}

    def open(self) -> None:
        if self._ray.is_initialized():
            return
        own = {} if self.address else {"num_cpus": int(self.n_workers), "include_dashboard": False}
        os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
        self._ray.init(address=self.address, log_to_driver=False, logging_level="ERROR", **own)
        self._started = True

    def close(self) -> None:
        self._remote = {}
        if self._started and self._ray.is_initialized():
            self._ray.shutdown()
        self._started = False

    def put(self, value: Any) -> Any:
        self.open()
        return self._ray.put(value)

    def fetch(self, reference: Any) -> Any:
        return self._ray.get(reference)

    def _submit(self, function: Callable[..., Any], arguments: tuple[Any, ...]) -> Any:
        self.open()
        if function not in self._remote:
            # Ray's own retries: it knows which worker died, and repeats lost inputs, too
            options = {"num_returns": 2, "max_retries": int(self.retries)}
            self._remote[function] = self._ray.remote(function).options(**options)
        return self._remote[function].remote(*arguments)

    def _result(self, task: Any, limit: float | None) -> tuple[Any, Any]:
        kept, told = task
        errors = self._ray.exceptions
        try:
            return kept, self._ray.get(told, timeout=limit)
        except errors.GetTimeoutError:
            self._ray.cancel(told, force=True)
            raise TaskLost(f"a worker has not answered for {limit:g} s") from None
        except (errors.WorkerCrashedError, errors.ObjectLostError, errors.NodeDiedError) as error:
            raise TaskLost(f"a worker was lost ({type(error).__name__})") from error
        except errors.RayTaskError as error:
            raise error.cause from None
