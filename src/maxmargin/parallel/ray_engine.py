"""Workers on a Ray cluster."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any, ClassVar

from maxmargin.optional import optional_module
from maxmargin.parallel.engines import Engine, WorkerLost, check_version, with_own_arrays

_HINT = 'engine="ray" needs Ray: pip install "maxmargin[ray]"'


class _Worker:
    """An actor."""

    def call(self, function: Callable[..., Any], *arguments: Any) -> Any:
        return function(*with_own_arrays(arguments))


class RayEngine(Engine):
    """Actors of a Ray cluster, each of which keeps its shards.

    Parameters
    ----------
    address : str or None, default=None
        Address of the cluster, such as "auto" or "ray://head:10001"; None means a new one on this
        machine with n_workers processors, which ends with `close`. If this process is connected to
        a cluster already, it is that one.
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
        self._actors: dict[int, Any] = {}

    def _open(self) -> None:
        if self._ray.is_initialized():
            return
        own = {} if self.address else {"num_cpus": int(self.n_workers), "include_dashboard": False}
        os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
        self._ray.init(address=self.address, log_to_driver=False, logging_level="ERROR", **own)
        self._started = True

    def submit(self, worker: int, function: Callable[..., Any], *arguments: Any) -> Any:
        self._open()
        if worker not in self._actors:
            self._actors[worker] = self._ray.remote(num_cpus=1)(_Worker).remote()
        return self._actors[worker].call.remote(function, *arguments)

    def result(self, future: Any) -> Any:
        errors = self._ray.exceptions
        lost = errors.RayActorError, errors.ObjectLostError, errors.NodeDiedError
        try:
            return with_own_arrays(self._ray.get(future, timeout=self.task_limit))
        except errors.GetTimeoutError:
            raise WorkerLost(f"a worker has not answered for {self.task_limit:g} s") from None
        except errors.RayTaskError as error:
            raise error.cause from None
        except (*lost, errors.OutOfMemoryError) as error:
            raise WorkerLost(f"a worker died ({type(error).__name__})") from error

    def restart(self, worker: int) -> None:
        self._ray.kill(self._actors.pop(worker))

    def close(self) -> None:
        for worker in list(self._actors):
            self.restart(worker)
        if self._started and self._ray.is_initialized():
            self._ray.shutdown()
        self._started = False
