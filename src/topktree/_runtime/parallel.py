"""Many calls at a time, wherever joblib's active backend runs them: threads, processes or a cluster.

In: calls as `joblib.delayed` makes them, taken one by one as workers become free. Out: their results.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import joblib
from joblib.parallel import get_active_backend

from .limits import Stop

# More threads than this only cost memory.
MAX_THREADS = max(8, 4 * int(joblib.cpu_count()))


def in_parallel(calls: Iterable[Any], n_jobs: int | None, stop: Stop, in_order: bool = False) -> Iterator[Any]:
    """Yield the results of the calls, as they end or in order; in threads, unless joblib is configured otherwise.

    Whatever ends this early, such as Ctrl-C, ends the calls as well.
    """
    backend, _ = get_active_backend(prefer="threads")
    return_as = "generator" if in_order else "generator_unordered"
    if not getattr(backend, "supports_return_generator", False):
        return_as = "list"
    try:
        yield from joblib.Parallel(n_jobs=n_jobs, return_as=return_as, prefer="threads")(calls)
    except BaseException:
        stop.cancel()
        raise


def calls_at_once(n_jobs: int | None) -> int:
    """Return how many calls joblib's active backend runs at the same time: threads, unless configured otherwise."""
    return _count_calls(n_jobs, *get_active_backend(prefer="threads"))


def threads_per_call(n_jobs: int | None, n_calls: int) -> int:
    """Return how many threads each call gets if as many calls as possible run at the same time on this machine."""
    backend, default = get_active_backend(prefer="threads")
    if not _shares_memory(backend):  # the calls run in other processes, or on other machines
        return 1
    return min(max(1, _count_calls(n_jobs, backend, default) // max(n_calls, 1)), MAX_THREADS)


def count_threads(n_jobs: int | None) -> int:
    """Return how many threads of this machine one call gets. A backend for a cluster would count all of its cores."""
    backend, default = get_active_backend(prefer="threads")
    if _shares_memory(backend):
        return min(_count_calls(n_jobs, backend, default), MAX_THREADS)
    if n_jobs is None:
        return 1
    return min(n_jobs, MAX_THREADS) if n_jobs > 0 else max(1, int(joblib.cpu_count()) + 1 + n_jobs)


def _count_calls(n_jobs: int | None, backend: Any, default: int | None) -> int:
    # joblib.effective_n_jobs asks for processes, of which a worker of multiprocessing.Pool may start none.
    return int(backend.effective_n_jobs(default if n_jobs is None else n_jobs))


def _shares_memory(backend: Any) -> bool:
    """Tell whether a backend of joblib's runs calls in threads of this process."""
    return bool(getattr(backend, "supports_sharedmem", False))
