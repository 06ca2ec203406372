"""How many threads a call gets, wherever it runs."""

import multiprocessing

import joblib
import numpy as np
import pytest

from topktree import TopKForestClassifier
from topktree._runtime.parallel import count_threads, threads_per_call


@pytest.mark.parametrize("n_jobs", [None, 1, 2])
def test_processes_that_may_not_start_processes_have_threads(n_jobs):
    """A worker of multiprocessing.Pool is such a process."""
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        assert pool.apply(count_threads, (n_jobs,)) == (n_jobs or 1)
        assert pool.apply(threads_per_call, (n_jobs, 1)) == (n_jobs or 1)


def test_forests_in_such_processes_do_not_warn(monkeypatch):
    monkeypatch.setenv("PYTHONWARNINGS", "error::UserWarning")
    X, y = np.arange(8.0)[:, None], np.arange(8) % 2
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        assert len(pool.apply(TopKForestClassifier(n_estimators=3, n_jobs=2, random_state=0).fit, (X, y))) == 3


def test_joblib_decides_where_the_caller_does_not():
    with joblib.parallel_config(backend="threading", n_jobs=2):
        assert count_threads(None) == 2
        assert threads_per_call(None, 2) == 1
    nested = joblib.Parallel(n_jobs=2, backend="threading")(joblib.delayed(count_threads)(None) for _ in range(2))
    assert nested == [1, 1]
