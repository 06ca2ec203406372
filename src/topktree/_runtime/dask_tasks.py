"""Calls as tasks of the Dask cluster that joblib's active backend stands for.

In: that backend, and calls as `joblib.delayed` makes them. Out: their places and results, as they end.
The one idea: the futures are ours, not joblib's, which waits for ever for a task that cannot be sent or that kills its
workers, and leaves tasks to the cluster when it is interrupted. Dask is not imported: who has the backend has done it.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from itertools import islice
from typing import Any

from joblib.parallel import get_active_backend

from .interruptible import Cancelled

AHEAD = 2  # tasks for each thread of the cluster: one to run, and one at hand when that ends


class WorkerLost(RuntimeError):
    """A task that no worker finishes."""


def _distributed() -> Any:
    """Dask's module, if anybody has imported it."""
    return sys.modules.get("distributed")


def active_backend() -> Any:
    """Joblib's active backend if that is Dask's, else None."""
    distributed = _distributed()
    if distributed is None:
        return None
    backend, _ = get_active_backend()
    return backend if isinstance(getattr(backend, "client", None), distributed.Client) else None


def send(backend: Any, values: Sequence[Any]) -> Sequence[Any]:
    """Futures of the values, which stand for them as arguments. They are on the cluster as long as the futures live."""
    _wait_for_workers(backend)
    # As joblib has it: futures of equal data would share a key, and be cancelled together.
    return list(backend.client.scatter(list(values), hash=False))


def results_of(backend: Any, calls: Iterable[Any], n_jobs: int | None) -> Iterator[tuple[int, Any]]:
    """Place and result of each call, of which so many run at a time; None or below 0: as many as the cluster can.

    What a task raises is raised here, and ends the others.
    """
    n_threads = _wait_for_workers(backend)
    room = AHEAD * n_threads if n_jobs is None or n_jobs < 0 else n_jobs
    with backend.retrieval_context():  # a task that waits for tasks must not hold a worker's thread
        yield from _run(backend, enumerate(calls), room)


def _wait_for_workers(backend: Any) -> int:
    """The threads of all workers, of which some clusters start the first only when there is work."""
    return int(backend.effective_n_jobs(-1))


def _run(backend: Any, calls: Iterator[tuple[int, Any]], room: int) -> Iterator[tuple[int, Any]]:
    """As many tasks at a time as there is room for."""
    client = backend.client
    ended = _distributed().as_completed(loop=client.loop)
    places: dict[Any, int] = {}  # of the futures that have no result yet

    def submit(n_calls: int) -> None:
        for place, (function, args, keywords) in islice(calls, n_calls):
            future = client.submit(function, *args, **keywords, pure=False, **backend.submit_kwargs)
            places[future] = place
            ended.add(future)

    try:
        submit(room)
        for future in ended:
            yield places[future], _result(future)
            del places[future]
            submit(1)
    finally:
        if places:
            with suppress(Exception):  # of a connection that is lost: what came first tells more
                client.cancel(list(places))


def _result(future: Any) -> Any:
    """What the task returned, or the error that it raised."""
    try:
        return future.result()
    except (_distributed().CancelledError, _distributed().KilledWorker) as error:
        why = "a worker died, perhaps for want of memory, or has no topktree, or the scheduler is gone"
        raise WorkerLost(f"the Dask cluster lost the task {future.key}: {why}") from error


def watch() -> Callable[..., None] | None:
    """In a task, a callback for the engine that ends it once nobody waits for its result; None elsewhere."""
    distributed = _distributed()
    if distributed is None:
        return None
    try:
        worker = distributed.get_worker()
        key = worker.get_current_task()
    except (KeyError, ValueError):
        return None
    tasks = worker.state.tasks

    def look(*progress: Any) -> None:
        task = tasks.get(key)
        if task is None or task.state == "cancelled":
            raise Cancelled(f"the task {key} was cancelled")

    return look
