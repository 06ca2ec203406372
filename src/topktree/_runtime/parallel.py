"""Many calls at a time: in threads, processes or on a Dask cluster, as joblib's active backend has it.

In: calls as `joblib.delayed` makes them, taken one by one when there is room. Out: their results.
The one idea: a cluster that joblib was told of gets its calls from `dask_tasks.py`, everything else joblib serves.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from operator import itemgetter
from typing import Any

import joblib
from joblib.parallel import get_active_backend

from . import dask_tasks
from .interruptible import Stop

# More threads than this only cost memory.
MAX_THREADS = max(8, 4 * int(joblib.cpu_count()))


def results_of(
    calls: Iterable[Any], n_jobs: int | None, *, prefer: str | None = None, in_order: bool = False
) -> Iterator[Any]:
    """What the calls return, as they end or in their order. Whoever stops asking ends those that have not begun."""
    backend = dask_tasks.active_backend()
    if backend is None:
        yield from _through_joblib(calls, n_jobs, prefer, in_order)
    elif _wanted_jobs(n_jobs) == 1:
        yield from (function(*args, **keywords) for function, args, keywords in calls)
    else:
        pairs: Iterable[tuple[int, Any]] = dask_tasks.results_of(backend, calls, _wanted_jobs(n_jobs))
        yield from (result for _, result in (sorted(pairs, key=itemgetter(0)) if in_order else pairs))


def in_parallel(calls: Iterable[Any], n_jobs: int | None, stop: Stop, in_order: bool = False) -> Iterator[Any]:
    """Results of calls that run in threads if joblib has no other wish. What ends this early ends the calls as well."""
    try:
        yield from results_of(calls, n_jobs, prefer="threads", in_order=in_order)
    except BaseException:
        stop.cancel()
        raise


def threads_per_call(n_jobs: int | None, n_calls: int) -> int:
    """Threads that are left for each call when as many as possible run at once, on this machine."""
    backend, _ = get_active_backend(prefer="threads")
    if not getattr(backend, "supports_sharedmem", False):  # other processes, or other machines
        return 1
    return min(max(1, int(joblib.effective_n_jobs(n_jobs)) // max(n_calls, 1)), MAX_THREADS)


def share(values: Sequence[Any], n_jobs: int | None) -> Sequence[Any]:
    """The values, to be arguments of many calls: a cluster is sent each of them once, and calls only refer to it."""
    backend = dask_tasks.active_backend()
    return values if backend is None or _wanted_jobs(n_jobs) == 1 else dask_tasks.send(backend, values)


def count_threads(n_jobs: int | None) -> int:
    """For one call, on this machine. Under Dask, joblib would count the cores of the whole cluster."""
    if dask_tasks.active_backend() is None:
        return min(int(joblib.effective_n_jobs(n_jobs)), MAX_THREADS)
    if n_jobs is None:
        return 1
    return min(n_jobs, MAX_THREADS) if n_jobs > 0 else max(1, int(joblib.cpu_count()) + 1 + n_jobs)


def _wanted_jobs(n_jobs: int | None) -> int | None:
    """What the user says, here or in `joblib.parallel_config`. One job runs here: it is no work for a cluster."""
    configured: int | None = get_active_backend()[1]
    return configured if n_jobs is None else n_jobs


def _through_joblib(calls: Iterable[Any], n_jobs: int | None, prefer: str | None, in_order: bool) -> Iterator[Any]:
    hints = {} if prefer is None else {"prefer": prefer}
    backend, _ = get_active_backend(**hints)
    return_as = "generator" if in_order else "generator_unordered"
    if not getattr(backend, "supports_return_generator", False):
        return_as = "list"
    yield from joblib.Parallel(n_jobs=n_jobs, return_as=return_as, **hints)(calls)
