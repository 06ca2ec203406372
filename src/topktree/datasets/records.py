"""The records of the paper's datasets: sizes, classes, files and origins, from the paper's table.

In: `paper.csv`, a line per dataset. Out: `PAPER`, the 23 datasets of the paper, and `EXTRA`, two more.
"""

from __future__ import annotations

import csv
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal


@dataclass(frozen=True)
class PaperDataset:
    """The facts about a dataset that are known before it is read.

    Examples
    --------
    >>> from topktree import datasets
    >>> car = datasets.PAPER["car"]
    >>> car.rows, car.features, car.paper_columns, car.classes
    (1728, 6, 21, 4)
    """

    name: str
    kind: Literal["categorical", "numerical"]  # how the paper treats its features
    rows: int
    features: int
    paper_columns: int | None  # "#binary feats" of the paper's table; None if the dataset is not in it
    classes: int
    openml_id: int | None
    address: str  # of the original at OpenML, UCI or GitHub, as the paper's table links it
    files: tuple[str, ...]  # in a folder: one, or the training part and the test part
    sha256: tuple[str | None, ...]  # of each file that the documented results were made with; None if unknown
    n_train: int | None = None  # rows of the training part
    note: str = ""


def _record(name: str, kind: Any, n_train: str, source: str, sha256: str, note: str, **size: str) -> PaperDataset:
    """Return the record of a line of paper.csv; `source` is an id at OpenML or an address."""
    files = (f"{name}-train.csv.gz", f"{name}-test.csv.gz") if n_train else (f"{name}.csv.gz",)
    return PaperDataset(
        name,
        kind,
        rows=int(size["rows"]),
        features=int(size["features"]),
        paper_columns=int(size["paper_columns"]) if size["paper_columns"] else None,
        classes=int(size["classes"]),
        openml_id=int(source) if source.isdigit() else None,
        address=f"https://www.openml.org/d/{source}" if source.isdigit() else source,
        files=files,
        sha256=tuple(sha256.split()) or (None,),
        n_train=int(n_train) if n_train else None,
        note=note,
    )


_LINES = Path(__file__).with_name("paper.csv").read_text(encoding="utf-8").splitlines()
_RECORDS = [_record(**line) for line in csv.DictReader(_LINES)]
PAPER: Mapping[str, PaperDataset] = MappingProxyType({r.name: r for r in _RECORDS if r.paper_columns is not None})
EXTRA: Mapping[str, PaperDataset] = MappingProxyType({r.name: r for r in _RECORDS if r.paper_columns is None})
