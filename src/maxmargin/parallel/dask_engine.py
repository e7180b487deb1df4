"""Rounds on a Dask cluster."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from contextlib import suppress
from typing import Any, ClassVar

from maxmargin.optional import optional_module
from maxmargin.parallel.engines import Engine, TaskLost, check_version

_HINT = 'engine="dask" needs Dask: pip install "maxmargin[dask]"'


def _return_value(value: Any) -> Any:
    """The task that stands for a value, so that a lost one is there again."""
    return value


def _first(pair: tuple[Any, Any]) -> Any:
    return pair[0]


def _second(pair: tuple[Any, Any]) -> Any:
    return pair[1]


def _allow_failures(count: int, dask_scheduler: Any = None) -> None:
    dask_scheduler.allowed_failures = count


class DaskEngine(Engine):
    """Tasks of a Dask cluster; shards and states stay on its workers.

    What a dead worker held is computed again from the tasks that led to it. So that these are few,
    states are copied to the driver after every `lineage` epochs.

    Parameters
    ----------
    client : distributed.Client or None, default=None
        Client of the cluster; None means a new one on this machine with n_workers processes, which
        ends with `close`.
    **options : dict
        Those of `Engine`.
    """

    name: ClassVar[str] = "dask"
    lineage: ClassVar[int] = 5

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

    def open(self) -> None:
        if self._client is not None:
            return
        self._client = self.client
        if self._client is None:
            self._cluster = self._distributed.LocalCluster(
                n_workers=int(self.n_workers),
                threads_per_worker=1,
                dashboard_address=None,
                worker_dashboard_address=None,
                silence_logs=50,
            )
            self._client = self._distributed.Client(self._cluster, set_as_default=False)
        self._client.run_on_scheduler(_allow_failures, 10 * int(self.retries))
        self._workers = sorted(self._client.scheduler_info(n_workers=-1)["workers"])

    def close(self) -> None:
        if self._cluster is not None:
            self._client.close()
            self._cluster.close()
        self._client, self._cluster = None, None

    def put(self, value: Any) -> Any:
        self.open()
        return self._task(_return_value, (value,))

    def fetch(self, reference: Any) -> Any:
        return reference.result()

    def _task(self, function: Callable[..., Any], arguments: tuple[Any, ...]) -> Any:
        with warnings.catch_warnings():  # of large arguments, which are as large as they are
            warnings.simplefilter("ignore", UserWarning)
            return self._client.submit(function, *arguments, pure=False)

    def _submit(self, function: Callable[..., Any], arguments: tuple[Any, ...]) -> Any:
        self.open()
        pair = self._task(function, arguments)
        return self._task(_first, (pair,)), self._task(_second, (pair,)), pair

    def _result(self, task: Any, limit: float | None) -> tuple[Any, Any]:
        kept, told, pair = task
        try:
            return kept, told.result(timeout=limit)
        except TimeoutError:
            self._restart_worker_of(pair.key)
            raise TaskLost(f"a worker has not answered for {limit:g} s") from None
        except self._distributed.scheduler.KilledWorker as error:
            raise TaskLost("its workers died") from error
        except self._distributed.client.FutureCancelledError as error:
            raise TaskLost("its inputs were lost") from error

    def _restart_worker_of(self, key: Any) -> None:
        """Replace the worker that a task hangs on; those without a nanny cannot be."""
        running = [own for own, keys in self._client.processing().items() if key in keys]
        if running:
            with suppress(ValueError):
                self._client.restart_workers(running, timeout=60)
