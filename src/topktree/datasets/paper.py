"""The 23 datasets of the paper by name, read from a folder of csv.gz files or fetched from OpenML.

In: a name, and a folder or the variable TOPKTREE_DATA. Out: a `sklearn.utils.Bunch`, or the pair `(data, target)`.
The one idea: both sources give a table of text, which is checked against the dataset's record, a line of `paper.csv`,
before it becomes numbers.
"""

from __future__ import annotations

import csv
import difflib
import gzip
import hashlib
import http.client
import io
import os
import warnings
import zlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import Bunch

from .._runtime.checks import short
from .generated import Dataset

Text = NDArray[np.object_]  # of str

VARIABLE = "TOPKTREE_DATA"
_ALIASES = {"FICO": "fico-1000"}
# OpenML's connect-4 is PMLB's, which replaced UCI's letters and classes by their numbers in alphabetical order.
_OPENML_VALUES = {"connect-4": {"0": "b", "1": "o", "2": "x"}}
_OPENML_LABELS = {"connect-4": {"0": "draw", "1": "loss", "2": "win"}, "telescope": {"g": "0", "h": "1"}}
_MISSING = "?"
_SIZE = "{} rows, {} features and {} classes"


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


class DataNotFound(FileNotFoundError):
    """The error for a dataset that is in neither the folder nor OpenML."""


@dataclass(frozen=True)
class _Table:
    """A dataset as text."""

    source: str  # for messages
    names: list[str]
    fields: Text  # (rows, features)
    labels: Text  # (rows,)
    changed: tuple[str, ...] = ()  # files whose sha256 is not the known one


def load(name: str, data_home: str | os.PathLike[str] | None = None, *, return_X_y: bool = False) -> Dataset:
    """Load a dataset of the paper by its name there, from a folder of files or from OpenML.

    The folder has a file `<name>.csv.gz` for each dataset, or `<name>-train.csv.gz` and `<name>-test.csv.gz` for
    avila and ml-prove: a line of names, then the rows, the class last. Without a folder, or if it lacks the file,
    scikit-learn fetches the dataset from OpenML, if the paper's table links to it there, and caches it.

    Parameters
    ----------
    name : str
        One of the 23 names in `PAPER`, or one of the two in `EXTRA`, which can only be read from a folder.
        "FICO", the name in the paper's table, is "fico-1000".
    data_home : path or None, default=None
        The folder. None: the folder in the environment variable TOPKTREE_DATA, if it is set.
    return_X_y : bool, default=False
        If true, return `(data, target)` instead of the Bunch.

    Returns
    -------
    Bunch or tuple
        `data`: (rows, features) array: int64 if every value is an integer, else float64 if every value is a number,
        else object array of str; `target`: (rows,) int64 array if every class is an integer, else array of str;
        `feature_names`, `target_names`, `DESCR`; `name`; `kind`: "categorical" or "numerical", as the paper treats
        the features; `n_train`: how many of the first rows are the training part where that is fixed, else None.

    Raises
    ------
    DataNotFound
        If neither the folder nor OpenML has it. This is a FileNotFoundError.
    ValueError
        If the name is unknown, `data_home` is not a folder, a file is damaged, or the rows, features and classes that
        were read are not those of the dataset.

    Warns
    -----
    UserWarning
        If a file differs from the one that the documented results of this package were made with.

    Examples
    --------
    >>> from topktree import datasets
    >>> sorted(datasets.PAPER)[:4]
    ['artificial-characters', 'avila', 'car', 'connect-4']
    >>> X, y = datasets.load("car", return_X_y=True)  # doctest: +SKIP
    >>> datasets.load("iris")
    Traceback (most recent call last):
    ...
    ValueError: ...
    """
    record = _find_record(name)
    folder = _find_folder(data_home)
    if folder is not None and not _missing_files(record, folder[0]):
        table = _read_folder(record, folder[0])
    else:
        table = _fetch(record, folder)
    found = (*table.fields.shape, len(set(table.labels)))
    expected = (record.rows, record.features, record.classes)
    if found != expected:
        has, must_have = _SIZE.format(*found), _SIZE.format(*expected)
        raise ValueError(f"{table.source} has {has}; dataset {record.name!r} must have {must_have}")
    if table.changed:
        files = " and ".join(table.changed)
        message = f"{files}: not the content (sha256) that this package knows; results on {record.name!r} may differ"
        warnings.warn(f"{message} from the documented ones", UserWarning, stacklevel=2)
    target = _numbers(table.labels)
    if target.dtype != np.int64:
        target = table.labels.astype(np.str_)
    bunch = Bunch(
        data=_numbers(table.fields),
        target=target,
        feature_names=table.names,
        target_names=[str(label) for label in np.unique(target)],
        DESCR=_describe(record, table.source),
        name=record.name,
        kind=record.kind,
        n_train=record.n_train,
    )
    return (bunch.data, bunch.target) if return_X_y else bunch


def _find_record(name: str) -> PaperDataset:
    records = {**PAPER, **EXTRA, **{alias: PAPER[known] for alias, known in _ALIASES.items()}}
    if isinstance(name, str) and name in records:
        return records[name]
    close = difflib.get_close_matches(name.lower(), records, n=1) if isinstance(name, str) else []
    hint = f"did you mean {close[0]!r}? " if close else ""
    raise ValueError(f"name is {short(name)}; {hint}allowed are {', '.join(map(repr, records))}")


def _find_folder(data_home: str | os.PathLike[str] | None) -> tuple[Path, str] | None:
    """Return the folder and the name of the setting it comes from; None if there is none."""
    setting = "data_home"
    if data_home is None:
        data_home, setting = os.environ.get(VARIABLE) or None, f"${VARIABLE}"
    if data_home is None:
        return None
    if not isinstance(data_home, (str, os.PathLike)):
        raise TypeError(f"{setting} is {short(data_home)}; allowed are None and the path of a folder")
    path = os.path.expanduser(data_home)
    if not os.path.isdir(path):
        given = os.fspath(data_home)
        raise ValueError(f"{setting} is {short(given)}, which is not a folder; allowed is a folder of csv.gz files")
    return Path(path), setting


def _missing_files(record: PaperDataset, folder: Path) -> list[str]:
    return [file for file in record.files if not (folder / file).is_file()]


def _read_folder(record: PaperDataset, folder: Path) -> _Table:
    """Return the rows of all files, in the order of the files."""
    parts = [_read_csv(folder / file, sha256) for file, sha256 in zip(record.files, record.sha256, strict=True)]
    first = parts[0]
    for part in parts[1:]:
        if part.names != first.names:
            raise ValueError(f"{part.source} has other names in its first line than {first.source}")
    if record.n_train not in (None, len(first.labels)):
        raise ValueError(f"{first.source} has {len(first.labels)} rows; it must have {record.n_train}")
    return _Table(
        source=" and ".join(part.source for part in parts),
        names=first.names,
        fields=np.concatenate([part.fields for part in parts]),
        labels=np.concatenate([part.labels for part in parts]),
        changed=tuple(file for part in parts for file in part.changed),
    )


def _read_csv(path: Path, sha256: str | None) -> _Table:
    content = path.read_bytes()
    try:
        # The csv module reads the largest file, 2.8 million fields, in 0.6 s, which is fast enough.
        lines = list(csv.reader(io.StringIO(gzip.decompress(content).decode("utf-8"), newline="")))
    except (gzip.BadGzipFile, EOFError, zlib.error, UnicodeDecodeError, csv.Error) as error:
        raise ValueError(f"{path} is damaged: {error}") from error
    if not lines or len(lines[0]) < 2:
        raise ValueError(f"{path} has no first line with the names of the features and of the class")
    names = lines[0]
    for i, line in enumerate(lines):
        if len(line) not in (len(names), 0):  # 0: an empty line
            raise ValueError(f"{path} is damaged: line {i + 1} has {len(line)} fields; the first has {len(names)}")
    rows = np.array([line for line in lines[1:] if line], dtype=object).reshape(-1, len(names))
    is_known = sha256 in (None, hashlib.sha256(content).hexdigest())
    fields, labels = np.ascontiguousarray(rows[:, :-1]), rows[:, -1]
    return _Table(str(path), names[:-1], fields, labels, () if is_known else (str(path),))


def _fetch(record: PaperDataset, folder: tuple[Path, str] | None) -> _Table:
    """Return the dataset from OpenML."""
    if record.openml_id is None:
        raise DataNotFound(_not_found(record, folder, None))
    from sklearn.datasets import fetch_openml  # slow to import, and most users never need it

    try:
        with warnings.catch_warnings():
            # The error below says what went wrong.
            warnings.filterwarnings("ignore", message="A network error occurred")
            # This parser needs no pandas; it returns categories as numbers, with their texts apart.
            bunch = fetch_openml(data_id=record.openml_id, as_frame=False, parser="liac-arff")
    except (OSError, http.client.HTTPException, EOFError, ValueError) as error:
        raise DataNotFound(_not_found(record, folder, error)) from error
    return _decode(record, bunch)


def _decode(record: PaperDataset, bunch: Any) -> _Table:
    """Return the texts of OpenML's file."""
    values = _OPENML_VALUES.get(record.name, {})
    categories = bunch.categories or {}
    fields = np.empty(bunch.data.shape, dtype=object)
    for j, name in enumerate(bunch.feature_names):
        codes = bunch.data[:, j]  # numbers, or indices into the categories with NaN for missing
        if name in categories:
            texts = np.array([*_recode(categories[name], values), _MISSING], dtype=object)
            fields[:, j] = texts[np.where(np.isnan(codes), -1, codes).astype(np.int64)]
        else:
            fields[:, j] = _recode(codes.tolist(), values)
    labels = np.empty(len(fields), dtype=object)
    if bunch.target is not None:
        labels[:] = _recode(bunch.target.tolist(), _OPENML_LABELS.get(record.name, {}))
    names = [name.strip().rstrip(":") for name in bunch.feature_names]
    return _Table(f"OpenML's dataset {record.openml_id}", names, fields, labels)


def _recode(values: Iterable[Any], texts: Mapping[str, str]) -> list[str]:
    plain = (str(int(v)) if isinstance(v, float) and v.is_integer() else str(v).strip() for v in values)
    return [texts.get(value, value) for value in plain]


def _not_found(record: PaperDataset, folder: tuple[Path, str] | None, error: Exception | None) -> str:
    files = " and ".join(record.files)
    advice = f"set data_home or ${VARIABLE} to"
    if folder is None:
        where = f"no folder is given: {advice} one that has {files}"
    else:
        path, setting = folder
        lacking = " and ".join(_missing_files(record, path))
        place = f"{setting} is {str(path)!r}, which lacks {lacking}"
        where = f"{place}: put it there, or {advice} a folder that has {files}"
    if record.openml_id is None:
        online = f"the paper's table gives no OpenML id; the original is at {record.address}"
    else:
        reason = f"{type(error).__name__}: {error}"
        online = f"the dataset with id {record.openml_id} ({record.address}) could not be fetched: {reason}"
    return f"dataset {record.name!r} was not found. Folder: {where}. OpenML: {online}"


def _numbers(text: Text) -> NDArray[Any]:
    """Return the text as int64, or as float64 if that would change values; as it is if some are not numbers."""
    try:
        numbers = text.astype(np.float64)
    except ValueError:
        return text
    exact = 2.0**53  # a float64 of this size or more may be a rounded integer
    whole = np.all((numbers == np.rint(numbers)) & (np.abs(numbers) < exact))
    return numbers.astype(np.int64) if whole else numbers


def _describe(record: PaperDataset, source: str) -> str:
    lines = [
        f"{record.name}: {record.rows} rows, {record.features} {record.kind} features, {record.classes} classes.",
        f"Read from {source}. The original: {record.address}",
    ]
    if record.paper_columns is not None:
        lines.append(f"One of the 23 datasets of Blanc et al. (2023), who turn it into {record.paper_columns} columns.")
    if record.n_train is not None:
        lines.append(f"The first {record.n_train} rows are the training part, the others the test part.")
    return "\n".join([*lines, record.note] if record.note else lines)
