"""Work on a Dask cluster: parts go through functions, results are merged in a tree, one answer reaches the client.

In: a client. Out: results, or an error that says what happened. Scheduling, transport, retries and spilling are left to
Dask; this file decides how many tasks there are and how long the client waits, and leaves nothing behind.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import fields
from typing import Any, TypeVar

from dask.sizeof import sizeof
from distributed import Client, Future, default_client

from .._runtime.checks import short
from .._runtime.limits import OutOfTime

# Results that are merged by one task.
FAN_IN = 8
# Seconds between looks at the workers while the client waits.
POLL_SECONDS = 0.5
# The share of a worker's memory for the shards that are counted at once: they may have to be read from its disk while
# those counted before are still there. A share of 0.2 got small workers killed.
SHARE_OF_MEMORY = 0.05

Record = TypeVar("Record", bound=type)


def sized(record: Record) -> Record:
    """Tell Dask how many bytes the instances of a dataclass take.

    Dask assumes about fifty bytes for an object that it does not know. It would neither write such results to disk in
    time nor avoid sending them to another worker.
    """

    def size(result: Any) -> int:
        return object.__sizeof__(result) + sum(int(sizeof(getattr(result, field.name))) for field in fields(result))

    sizeof.register(record, size)
    return record


def find_client(client: Client | None) -> Client:
    """Return the client given, or the current one."""
    if client is None:
        try:
            client = default_client()
        except ValueError:
            raise ValueError(
                "client must be a distributed.Client where there is no current one, got None: start one with "
                "distributed.Client()"
            ) from None
    if not isinstance(client, Client):
        raise TypeError(f"client must be a distributed.Client or None, got {short(client)}")
    if client.asynchronous:
        raise ValueError(f"client must be one that is not asynchronous, got {short(client)}")
    return client


class Cluster:
    """The tasks of one fit on a cluster. `close` releases all of them."""

    def __init__(self, client: Client, worker_timeout: float) -> None:
        self._client = client
        self._worker_timeout = worker_timeout
        self._live: dict[str, Future] = {}
        self._groups: list[tuple[str, list[Future]]] = []
        self._grouped_for: dict[str, int] | None = None

    def compute(self, tasks: Sequence[Any]) -> list[Future]:
        """Start delayed tasks, one per part."""
        self._check_connection()
        return self._keep(self._client.compute(list(tasks), optimize_graph=True, traverse=False))

    def submit(self, function: Callable[..., Any], *arguments: Any, **options: Any) -> Future:
        """Start one task."""
        self._check_connection()
        return self._keep([self._client.submit(function, *arguments, pure=False, **options)])[0]

    def reduce(self, parts: Sequence[Future], merge: Callable[..., Any], *arguments: Any) -> Future:
        """Merge the results of parts, some at a time, and release them; `merge` gets a list of results."""
        level = list(parts)
        while True:
            chunks = [level[i : i + FAN_IN] for i in range(0, len(level), FAN_IN)]
            # Merging has priority over parts that are still to come, so that fewer results are held.
            merged = [self.submit(merge, chunk, *arguments, priority=1) for chunk in chunks]
            self.release(level)
            level = merged
            if len(level) <= 1:
                return level[0]

    def result(self, future: Future, deadline: float | None = None) -> Any:
        """Wait for a result and release the future. Raise `OutOfTime` at the deadline."""
        self._check_connection()
        self._wait(future, deadline)
        # One fetch is awaited in pieces: Future.result(timeout) starts over, and a long one would never end.
        coming = asyncio.run_coroutine_threadsafe(
            self._client.gather(future, asynchronous=True), self._client.loop.asyncio_loop
        )
        try:
            self._wait(coming, deadline)
            result = coming.result()
        except concurrent.futures.CancelledError as error:
            self._check_connection()
            raise RuntimeError(f"the Dask cluster gave up the work of this fit: {error}") from error
        finally:
            coming.cancel()
        self.release([future])
        return result

    def count(
        self, shards: Sequence[Future], n_bytes: int, function: Callable[..., Any], question: Any
    ) -> list[Future]:
        """Start the function for some shards at a time, on the workers that hold them; all shards take `n_bytes`."""
        threads = self._threads()
        if threads != self._grouped_for:
            self._groups = list(self._group(shards, threads, n_bytes / max(len(shards), 1)))
            is_placed = all(worker for worker, _ in self._groups)
            self._grouped_for = threads if is_placed else None
        # A task, unlike scattered data, is repeated if the worker that holds its result is lost.
        shared = self.submit(_same, question)
        tasks = [
            self.submit(function, group, shared, workers=[worker] if worker else None, allow_other_workers=bool(worker))
            for worker, group in self._groups
        ]
        self.release([shared])
        return tasks

    def worker_memory(self) -> float:
        """Return the bytes of memory of the smallest worker."""
        workers = self._ask_scheduler(self._client.scheduler_info, n_workers=-1)["workers"].values()
        return min((float(w["memory_limit"]) for w in workers if w.get("memory_limit")), default=float("inf"))

    def release(self, futures: Sequence[Future]) -> None:
        """Release results: workers forget what nobody else needs."""
        for future in futures:
            if self._live.pop(future.key, None) is not None:
                future.release()

    def close(self) -> None:
        """Release everything. Nobody else knows these tasks, so those that still wait are never started."""
        # Client.cancel is for futures that others hold as well; for tasks that nobody holds it ends the connection.
        self._groups = []
        self.release(list(self._live.values()))

    def _keep(self, futures: Sequence[Future]) -> list[Future]:
        self._live.update((future.key, future) for future in futures)
        return list(futures)

    def _wait(self, future: Future | concurrent.futures.Future[Any], deadline: float | None) -> None:
        """Wait until the future is done. Raise if the deadline passes or if there are no workers for too long."""
        done = threading.Event()
        future.add_done_callback(lambda _: done.set())
        last_seen = time.monotonic()  # the last time that there was a worker
        while True:
            left = POLL_SECONDS if deadline is None else min(POLL_SECONDS, max(deadline - time.monotonic(), 0.001))
            if done.wait(left) or future.done():
                return
            now = time.monotonic()
            if deadline is not None and now >= deadline:
                raise OutOfTime
            if self._threads():
                last_seen = now
            elif now - last_seen > self._worker_timeout:
                raise RuntimeError(
                    f"the Dask cluster has had no workers for {self._worker_timeout:g} s (worker_timeout): they were "
                    "lost during fit, or never came"
                )

    def _check_connection(self) -> None:
        if self._client.status != "running":
            raise RuntimeError(
                f"the connection to the Dask scheduler was lost during fit: the client is {self._client.status}"
            )

    def _ask_scheduler(self, call: Callable[..., Any], *arguments: Any, **options: Any) -> Any:
        self._check_connection()
        try:
            return call(*arguments, **options)
        except OSError as error:
            raise RuntimeError(f"the connection to the Dask scheduler was lost during fit: {error}") from error

    def _threads(self) -> dict[str, int]:
        """Return the number of threads of every worker."""
        return dict(self._ask_scheduler(self._client.nthreads))

    def _group(
        self, shards: Sequence[Future], threads: dict[str, int], shard_bytes: float
    ) -> Iterator[tuple[str, list[Future]]]:
        """Yield groups of shards that are on one worker: one group per thread, or more if the shards are large.

        Shards that were lost have no worker ("") and are spread over all threads.
        """
        holders = self._ask_scheduler(self._client.who_has, list(shards))
        by_worker: dict[str, list[Future]] = defaultdict(list)
        for shard in shards:
            here = [worker for worker in holders.get(shard.key, ()) if worker in threads]
            by_worker[min(here, key=lambda worker: len(by_worker[worker])) if here else ""].append(shard)
        room = SHARE_OF_MEMORY * self.worker_memory() / max(max(threads.values(), default=1), 1)
        most = max(1, int(min(room / max(shard_bytes, 1), len(shards))))
        for worker, own in by_worker.items():
            n_threads = threads[worker] if worker else sum(threads.values())
            size = max(1, min(most, -(-len(own) // max(n_threads, 1))))
            for start in range(0, len(own), size):
                yield worker, own[start : start + size]


def _same(value: Any) -> Any:
    return value
