"""Several hundred fits come out as golden.json has them, and large searches as they do without any shortcut."""

import json

import pytest
from support import golden, plain_trees
from support.paths import REFERENCE, needs_datasets

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


def test_the_search_finds_the_trees_of_a_plain_one():
    kept = json.loads(plain_trees.KEPT.read_text())
    names = plain_trees.GENERATED + (plain_trees.STORED if REFERENCE.is_dir() else ())
    found = {f"{name} {rule}": plain_trees.find(name, rule, threads=2) for name, rule in plain_trees.cases(names)}
    assert found == {name: kept[name] for name in found}
    assert len(found) == len(kept) or not REFERENCE.is_dir()
