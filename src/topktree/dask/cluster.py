"""Work on a Dask cluster: parts through functions, results merged in a tree, one answer at the client.

In: a client. Out: results, or an error that says what happened. Scheduling, transport, retries and spilling are Dask's;
what is here is how many tasks there are, how long the client waits, and that nothing is left behind.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from distributed import Client, Future, default_client

from .._runtime.limits import OutOfTime

# Results that are merged by one task.
FAN_IN = 8
# Seconds between looks at the workers while the client waits.
POLL_SECONDS = 0.5
# Of a worker's memory, what the shards may take that are counted at once: they may have to be read from its disk, while
# those counted before are still there. A fifth had small workers killed.
SHARE_OF_MEMORY = 0.05


def find_client(client: Client | None) -> Client:
    """The client given, or the current one."""
    if client is None:
        try:
            client = default_client()
        except ValueError:
            raise ValueError(
                "client must be a distributed.Client where there is no current one, got None: start one with "
                "distributed.Client()"
            ) from None
    if not isinstance(client, Client):
        raise TypeError(f"client must be a distributed.Client or None, got {client!r}")
    if client.asynchronous:
        raise ValueError(f"client must be one that is not asynchronous, got {client!r}")
    return client


class Cluster:
    """What one fit has on a cluster."""

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
        """Merge results of parts, some at a time, and let go of them; `merge` gets a list of them."""
        level = list(parts)
        is_merged = False
        while len(level) > 1 or not is_merged:
            chunks = [level[i : i + FAN_IN] for i in range(0, len(level), FAN_IN)]
            # Before the parts that are still to come: what is merged need not be held.
            merged = [self.submit(merge, chunk, *arguments, priority=1) for chunk in chunks]
            self.release(level)
            level, is_merged = merged, True
        return level[0]

    def result(self, future: Future, deadline: float | None = None) -> Any:
        """What comes out, as soon as it does; the future is let go. Raises `OutOfTime` at the deadline."""
        self._check_connection()
        self._wait(future, deadline)
        # Fetched once and waited for in pieces: Future.result(timeout) begins again, and a long one would never come.
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

    def _wait(self, future: Future | concurrent.futures.Future[Any], deadline: float | None) -> None:
        """Until it is done, or something is wrong."""
        done = threading.Event()
        future.add_done_callback(lambda _: done.set())
        without_workers = None
        while True:
            left = POLL_SECONDS if deadline is None else min(POLL_SECONDS, max(deadline - time.monotonic(), 0.001))
            if done.wait(left) or future.done():
                return
            if deadline is not None and time.monotonic() >= deadline:
                raise OutOfTime
            without_workers = self._check_workers(without_workers)

    def _check_connection(self) -> None:
        if self._client.status != "running":
            raise RuntimeError(
                f"the connection to the Dask scheduler was lost during fit: the client is {self._client.status}"
            )

    def _check_workers(self, since: float | None) -> float | None:
        """Since when there are none; None: there are some."""
        if self._threads():
            return None
        now = time.perf_counter()
        if since is not None and now - since > self._worker_timeout:
            raise RuntimeError(
                f"the Dask cluster has had no workers for {self._worker_timeout:g} s (worker_timeout): they were lost "
                "during fit, or never came"
            )
        return now if since is None else since

    def _threads(self) -> dict[str, int]:
        """Of every worker."""
        return dict(self._ask_scheduler(self._client.nthreads))

    def _ask_scheduler(self, call: Callable[..., Any], *arguments: Any, **options: Any) -> Any:
        self._check_connection()
        try:
            return call(*arguments, **options)
        except OSError as error:
            raise RuntimeError(f"the connection to the Dask scheduler was lost during fit: {error}") from error

    def count(
        self, shards: Sequence[Future], n_bytes: int, function: Callable[..., Any], question: Any
    ) -> list[Future]:
        """The function of some shards at a time, where they are; `n_bytes` is what they take in all."""
        threads = self._threads()
        if threads != self._grouped_for:
            self._groups = list(self._group(shards, threads, n_bytes / max(len(shards), 1)))
            is_placed = all(worker for worker, _ in self._groups)
            self._grouped_for = threads if is_placed else None
        # A task, unlike scattered data, is done again if the worker that has it is lost.
        shared = self.submit(_same, question)
        tasks = [
            self.submit(function, group, shared, workers=[worker] if worker else None, allow_other_workers=bool(worker))
            for worker, group in self._groups
        ]
        self.release([shared])
        return tasks

    def _group(
        self, shards: Sequence[Future], threads: dict[str, int], shard_bytes: float
    ) -> Iterator[tuple[str, list[Future]]]:
        """Shards that are on one worker, in as many groups as it has threads, or more if they are large.

        Lost ones, which will be somewhere, are spread over all threads.
        """
        holders = self._ask_scheduler(self._client.who_has, list(shards))
        by_worker: dict[str, list[Future]] = defaultdict(list)
        for shard in shards:
            here = [worker for worker in holders.get(shard.key, ()) if worker in threads]
            by_worker[min(here, key=lambda worker: len(by_worker[worker])) if here else ""].append(shard)
        room = SHARE_OF_MEMORY * self._worker_memory() / max(max(threads.values(), default=1), 1)
        most = max(1, int(min(room / max(shard_bytes, 1), len(shards))))
        for worker, own in by_worker.items():
            n_threads = threads[worker] if worker else sum(threads.values())
            size = max(1, min(most, -(-len(own) // max(n_threads, 1))))
            for start in range(0, len(own), size):
                yield worker, own[start : start + size]

    def _worker_memory(self) -> float:
        """Of the smallest worker that has a limit."""
        workers = self._ask_scheduler(self._client.scheduler_info, n_workers=-1)["workers"].values()
        return min((float(w["memory_limit"]) for w in workers if w.get("memory_limit")), default=float("inf"))

    def release(self, futures: Sequence[Future]) -> None:
        """Let go of results: workers forget what nobody else needs."""
        for future in futures:
            if self._live.pop(future.key, None) is not None:
                future.release()

    def close(self) -> None:
        """Let go of everything: nobody else knows of these tasks, so that what is still to be done is not begun."""
        # Client.cancel is for futures that others hold as well; on tasks that nobody holds it ends the connection.
        self._groups = []
        self.release(list(self._live.values()))

    def _keep(self, futures: Sequence[Future]) -> list[Future]:
        self._live.update((future.key, future) for future in futures)
        return list(futures)


@contextmanager
def on_cluster(client: Client, worker_timeout: float) -> Iterator[Cluster]:
    """A cluster that is left as it was."""
    cluster = Cluster(client, worker_timeout)
    try:
        yield cluster
    finally:
        cluster.close()


def _same(value: Any) -> Any:
    return value
