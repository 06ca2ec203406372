"""Several hundred fits come out as golden.json has them: tree, cost, errors and status."""

import json

import pytest
from support import golden
from support.paths import needs_datasets

CASES = golden.every_case()


@pytest.fixture(scope="module")
def kept():
    return json.loads(golden.GOLDEN.read_text())


def test_every_case_is_kept_and_no_other(kept):
    assert list(kept) == list(CASES)
    assert len(kept) >= 300


@needs_datasets
@pytest.mark.filterwarnings("ignore:.*rows are in the sample of every tree")
@pytest.mark.parametrize("group", sorted({name.split()[0] for name in CASES if not name.startswith("dask")}))
def test_fits_are_as_they_were(group, kept):
    found = {name: run() for name, run in CASES.items() if name.split()[0] == group}
    assert found == {name: kept[name] for name in found}


@needs_datasets
@pytest.mark.parametrize("where", ["dask-client", "dask-workers"])
def test_fits_on_a_cluster_are_as_they_were(where, kept):
    distributed = pytest.importorskip("distributed")
    with distributed.Client(processes=False, n_workers=2, threads_per_worker=1, dashboard_address=None):
        found = {name: run() for name, run in CASES.items() if name.split()[0] == where}
    assert found == {name: kept[name] for name in found}
