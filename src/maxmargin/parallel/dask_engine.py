"""Workers on a Dask cluster."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from concurrent.futures import CancelledError
from contextlib import suppress
from typing import Any, ClassVar

import numpy as np

from maxmargin.optional import optional_module
from maxmargin.parallel.engines import Engine, WorkerLost, check_version

_HINT = 'engine="dask" needs Dask: pip install "maxmargin[dask]"'
#: seconds after which it looks whether a worker is still there
_STEP = 5.0
#: seconds to wait for a worker where there is none
_PATIENCE = 120
#: calls after which it asks which workers there are
_LOOK = 100


class DaskEngine(Engine):
    """Workers of a Dask cluster, each of which keeps its shards.

    Parameters
    ----------
    client : distributed.Client or None, default=None
        Client of the cluster; None means a new one on this machine with n_workers processes, which
        ends with `close`.
    **options : dict
        Those of `Engine`.
    """

    name: ClassVar[str] = "dask"

    def __init__(self, client: Any = None, **options: Any):
        super().__init__(**options)
        self._distributed = optional_module("distributed", _HINT)
        check_version("distributed", self._distributed.__version__)
        if client is not None and not isinstance(client, self._distributed.Client):
            raise TypeError(
                f"client must be a distributed.Client, found {type(client).__name__}; one of a"
                " cluster is Client(cluster)."
            )
        self.client = client
        self._client: Any = None
        self._cluster: Any = None
        self._setting: Any = None
        self._workers: list[str] = []
        self._count = 0

    def _open(self) -> Any:
        if self._client is None:
            self._client = self.client
        if self._client is None:
            # otherwise workers that take more than 15 s to come back are given up for ever
            lasting = {"distributed.deploy.lost-worker-timeout": "1 day"}
            self._setting = optional_module("dask.config", _HINT).set(lasting)
            self._cluster = self._distributed.LocalCluster(
                n_workers=int(self.n_workers),
                threads_per_worker=1,
                dashboard_address=None,
                scheduler_kwargs={"dashboard_address": "127.0.0.1:0"},  # any port that is free
                worker_dashboard_address=None,
                silence_logs=50,
            )
            # values come from the workers themselves, not by way of the scheduler
            direct = {"direct_to_workers": True, "set_as_default": False}
            self._client = self._distributed.Client(self._cluster, **direct)
        return self._client

    def submit(self, worker: int, function: Callable[..., Any], *arguments: Any) -> Any:
        client = self._open()
        if self._count % _LOOK == 0:
            self._look_for_workers()
        self._count += 1
        if not self._workers:  # others may be starting
            with suppress(self._distributed.TimeoutError):
                client.wait_for_workers(1, timeout=_PATIENCE)
            self._look_for_workers()
            if not self._workers:
                raise RuntimeError(f"the Dask cluster has had no worker for {_PATIENCE} s.")
        # where a worker is gone another one takes its calls, and is sent what it lacks
        found = self._workers
        address = found[worker % len(found)]
        place = {"workers": [address], "allow_other_workers": True}
        with warnings.catch_warnings():  # of large arguments, which are as large as they are
            warnings.simplefilter("ignore", UserWarning)
            return client.submit(function, *arguments, pure=False, **place), address

    def result(self, future: Any) -> Any:
        task, worker = future
        waited, limit = 0.0, float(self.task_limit or np.inf)
        while True:
            step = min(_STEP, limit - waited)
            try:
                return self._result_within(task, step)
            except self._distributed.TimeoutError:
                waited += step
            self._look_for_workers()
            runs_on = [own for own, keys in self._client.processing().items() if task.key in keys]
            if waited >= limit:
                self._restart(runs_on)
                raise WorkerLost(f"a worker has not answered for {limit:g} s") from None
            if worker not in self._workers and not runs_on:  # it may wait for it for ever
                task.cancel()
                raise WorkerLost("its worker is gone")

    def _look_for_workers(self) -> None:
        self._workers = sorted(self._client.scheduler_info(n_workers=-1)["workers"])

    def _result_within(self, task: Any, limit: float) -> Any:
        try:
            return task.result(timeout=limit)
        except self._distributed.scheduler.KilledWorker as error:
            raise WorkerLost("its workers died") from error
        except CancelledError as error:
            raise WorkerLost("its worker was cut off") from error

    def _restart(self, workers: list[str]) -> None:
        """Replace those that a call hangs on; workers without a nanny cannot be."""
        if workers:
            with suppress(ValueError):
                self._client.restart_workers(workers, timeout=60)

    def close(self) -> None:
        if self._cluster is not None:
            self._client.close()
            self._cluster.close()
            self._setting.__exit__(None, None, None)
        self._client, self._cluster, self._count = None, None, 0
