"""The paper's datasets: the numbers of its table, the two sources of the data, and what is said when they fail.

No test reaches the network: requests end at an opener of urllib's that refuses them or answers from memory.
"""

import gzip
import hashlib
import http.client
import io
import json
import re
import sys
import urllib.error
import urllib.request
import urllib.response
from email.message import Message

import numpy as np
import pytest
from sklearn.utils import Bunch
from support.paths import DATASETS

from topktree import Binarizer
from topktree.datasets import EXTRA, PAPER, DataNotFound, load, load_tic_tac_toe

# The table of the paper: rows, features, columns, classes, and the OpenML id it links.
TABLE = {
    "connect-4": (67557, 42, 126, 3, 40668),
    "nursery": (12960, 8, 27, 5, 26),
    "letter-recognition": (20000, 16, 256, 26, 6),  # the paper has 19,999 rows
    "car": (1728, 6, 21, 4, 21),
    "kr-vs-kp": (3196, 36, 73, 2, 3),
    "hiv-1-protease": (6590, 8, 160, 2, None),
    "molecular-biology-splice": (3190, 60, 287, 3, 46),
    "monks-1": (556, 6, 17, 2, 333),
    "hayes-roth": (160, 4, 15, 3, 329),
    "tic-tac-toe": (958, 9, 27, 2, 50),
    "artificial-characters": (10218, 7, 91, 10, 1459),
    "telescope": (19020, 10, 100, 2, 1120),
    "spambase": (4601, 57, 57, 2, 44),
    "dry-bean": (13611, 16, 96, 7, None),
    "occupancy-estimation": (10129, 16, 86, 4, None),
    "miniboone": (130064, 50, 100, 2, None),
    "sensorless-drive-diagnosis": (58509, 48, 96, 11, None),
    "ml-prove": (6118, 51, 51, 6, None),
    "avila": (20867, 10, 100, 12, None),
    "taiwanese-bankruptcy": (6819, 95, 95, 2, None),
    "credit-card": (30000, 23, 88, 2, None),
    "electrical-grid-stability": (10000, 13, 91, 2, None),
    "fico-1000": (1000, 23, 1407, 2, None),
}
CATEGORICAL = list(TABLE)[:10]
INTEGERS = ("letter-recognition", "monks-1", "hayes-roth", "credit-card", "fico-1000")
TEXT = ("connect-4", "nursery", "car", "kr-vs-kp", "hiv-1-protease", "molecular-biology-splice", "tic-tac-toe")
TEXT_CLASSES = (*(set(TEXT) - {"hiv-1-protease"}), "letter-recognition", "avila")


class Internet(urllib.request.BaseHandler):
    """Answers of urllib: by the end of the address, or none."""

    def __init__(self):
        self.pages = {}

    def https_open(self, request):
        for end, content in self.pages.items():
            if request.full_url.endswith(end):
                return urllib.response.addinfourl(io.BytesIO(content), Message(), request.full_url, 200)
        raise urllib.error.URLError("no network in this test")

    http_open = https_open


@pytest.fixture(autouse=True)
def internet(monkeypatch, tmp_path):
    """Nothing but what a test puts there; no variable and no cache of the user's."""
    handler = Internet()
    opener = urllib.request.OpenerDirector()
    opener.add_handler(handler)
    monkeypatch.setattr(urllib.request, "_opener", opener)
    monkeypatch.setattr("time.sleep", lambda seconds: None)  # scikit-learn waits before it tries again
    monkeypatch.setenv("SCIKIT_LEARN_DATA", str(tmp_path / "cache"))
    monkeypatch.delenv("TOPKTREE_DATA", raising=False)
    return handler


def published(name):
    """The dataset from the folder of published files."""
    record = {**PAPER, **EXTRA}[name]
    if not all((DATASETS / file).is_file() for file in record.files):
        pytest.skip(f"no {' and '.join(record.files)} in $TOPKTREE_DATA")
    return load(name, DATASETS)


def write(path, text):
    path.write_bytes(gzip.compress(text.encode()))


def hayes_roth(rows=160, features=4, classes=3):
    """A file with the shape of hayes-roth, or nearly."""
    lines = [",".join([*(f"f{j}" for j in range(features)), "class"])]
    lines += [",".join([*(str((i * 7 + j) % 4) for j in range(features)), str(i % classes)]) for i in range(rows)]
    return "\n".join(lines) + "\n"


def message(call, *arguments, error=DataNotFound):
    with pytest.raises(error) as caught:
        call(*arguments)
    return str(caught.value)


# The paper's table.


def test_names_and_numbers_are_those_of_the_papers_table():
    assert list(PAPER) == list(TABLE)
    for record in PAPER.values():
        size = record.rows, record.features, record.paper_columns, record.classes, record.openml_id
        assert size == TABLE[record.name]
        assert record.kind == ("categorical" if record.name in CATEGORICAL else "numerical")
        assert len(record.sha256) == len(record.files)
    assert list(EXTRA) == ["fico", "dry-bean-repaired"]
    assert PAPER["avila"].files == ("avila-train.csv.gz", "avila-test.csv.gz")
    assert PAPER["miniboone"].sha256 == (None,)
    with pytest.raises(TypeError):
        PAPER["iris"] = PAPER["car"]


@pytest.mark.parametrize("name", [name for name in TABLE if name != "miniboone"])  # of which no file is held
def test_shape_types_and_columns(name):
    bunch = published(name)
    rows, features, columns, classes, _ = TABLE[name]
    assert bunch.data.shape == (rows, features)
    assert bunch.target.shape == (rows,)
    assert bunch.data.dtype == (np.int64 if name in INTEGERS else object if name in TEXT else np.float64)
    assert bunch.target.dtype.kind == ("U" if name in TEXT_CLASSES else "i")
    assert bunch.target_names == [str(label) for label in np.unique(bunch.target)]
    assert len(bunch.target_names) == classes
    assert len(set(bunch.feature_names)) == features
    assert (bunch.name, bunch.kind) == (name, PAPER[name].kind)
    X = bunch.data.astype(str).astype(object) if bunch.kind == "categorical" else bunch.data
    binarizer = Binarizer(strategy="paper", max_columns=None if name == "fico-1000" else 100).fit(X)
    assert len(binarizer.columns_) == columns == PAPER[name].paper_columns


@pytest.mark.parametrize(("name", "shape"), [("fico", (10459, 23)), ("dry-bean-repaired", (13611, 16))])
def test_extra_names(name, shape):
    bunch = published(name)
    assert bunch.data.shape == shape
    assert bunch.name == name


def test_the_repaired_perimeter():
    damaged, repaired = published("dry-bean"), published("dry-bean-repaired")
    differs = damaged.data != repaired.data
    assert differs.sum(axis=0).tolist() == [0, 12305] + [0] * 14
    assert repaired.data[0, 1] == 610.291
    assert "dry-bean-repaired" in damaged.DESCR


def test_stab_is_the_class():
    bunch = published("electrical-grid-stability")
    assert bunch.feature_names[-1] == "stab"
    np.testing.assert_array_equal(bunch.data[:, -1] < 0, bunch.target == 1)
    assert "stab" in bunch.DESCR


@pytest.mark.parametrize(("name", "n_train"), [("avila", 10430), ("ml-prove", 4588)])
def test_fixed_split(name, n_train):
    bunch = published(name)
    assert bunch.n_train == n_train
    # The first and last row of each part.
    for part, rows in (("train", bunch.data[:n_train]), ("test", bunch.data[n_train:])):
        lines = gzip.decompress((DATASETS / f"{name}-{part}.csv.gz").read_bytes()).decode().splitlines()[1:]
        assert len(lines) == len(rows)
        for i in (0, -1):
            assert rows[i].tolist() == [float(value) for value in lines[i].split(",")[:-1]]
    assert str(n_train) in bunch.DESCR


def test_no_fixed_split_elsewhere():
    assert published("car").n_train is None
    assert [record.name for record in PAPER.values() if record.n_train] == ["ml-prove", "avila"]


def test_fico_of_the_paper_is_an_alias():
    expected = published("fico-1000")
    bunch = load("FICO", DATASETS)
    assert bunch.name == "fico-1000"
    np.testing.assert_array_equal(bunch.data, expected.data)


def test_return_X_y_is_the_pair():
    bunch = published("car")
    data, target = load("car", DATASETS, return_X_y=True)
    np.testing.assert_array_equal(data, bunch.data)
    np.testing.assert_array_equal(target, bunch.target)
    assert data[0].tolist() == ["vhigh", "vhigh", "2", "2", "small", "low"]
    assert target[0] == "unacc"


# The folder.


def test_a_file_of_ones_own_is_read_with_a_warning(tmp_path):
    write(tmp_path / "hayes-roth.csv.gz", hayes_roth())
    with pytest.warns(UserWarning, match="results on 'hayes-roth' may differ from the documented ones") as caught:
        bunch = load("hayes-roth", tmp_path)
    assert [warning.filename for warning in caught] == [__file__]
    assert bunch.data.dtype == np.int64
    assert bunch.data[:2].tolist() == [[0, 1, 2, 3], [3, 0, 1, 2]]
    assert bunch.target[:4].tolist() == [0, 1, 2, 0]
    assert bunch.feature_names == ["f0", "f1", "f2", "f3"]
    assert bunch.target_names == ["0", "1", "2"]
    assert str(tmp_path / "hayes-roth.csv.gz") in bunch.DESCR


@pytest.mark.filterwarnings("ignore:.*sha256")
@pytest.mark.parametrize(
    ("old", "new", "dtype", "first"),
    [
        ("", "", np.int64, 0),
        ("\n0,", "\n0.5,", np.float64, 0.5),
        ("\n0,", "\n0.0,", np.int64, 0),
        ("\n0,", "\n-8,", np.int64, -8),
        ("\n0,", "\n1e300,", np.float64, 1e300),
        ("\n0,", "\nred,", object, "red"),
        ("\n0,", '\n"a, ""b""",', object, 'a, "b"'),
        ("\n0,", "\n,", object, ""),
        ("\n", "\r\n", np.int64, 0),
        ("\n1,", "\n\n1,", np.int64, 0),  # an empty line
    ],
)
def test_the_type_follows_from_the_fields(tmp_path, old, new, dtype, first):
    write(tmp_path / "hayes-roth.csv.gz", hayes_roth().replace(old, new))
    data, target = load("hayes-roth", tmp_path, return_X_y=True)
    assert data.dtype == dtype
    assert data[0, 0] == first
    assert target.dtype == np.int64


@pytest.mark.filterwarnings("ignore:.*sha256")
@pytest.mark.parametrize(
    ("new", "labels"), [(",red\n", ["0", "1", "red"]), (",0.5\n", ["0", "0.5", "1"]), (",2.0\n", [0, 1, 2])]
)
def test_the_type_of_the_class(tmp_path, new, labels):
    write(tmp_path / "hayes-roth.csv.gz", hayes_roth().replace(",2\n", new))
    bunch = load("hayes-roth", tmp_path)
    assert np.unique(bunch.target).tolist() == labels
    assert bunch.target_names == [str(label) for label in labels]


def test_the_variable_names_the_folder_and_data_home_goes_first(tmp_path, monkeypatch):
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    write(tmp_path / "a" / "hayes-roth.csv.gz", hayes_roth())
    write(tmp_path / "b" / "hayes-roth.csv.gz", hayes_roth().replace("f0", "g0"))
    monkeypatch.setenv("TOPKTREE_DATA", str(tmp_path / "a"))
    with pytest.warns(UserWarning, match="hayes-roth"):
        assert load("hayes-roth").feature_names[0] == "f0"
    with pytest.warns(UserWarning, match="hayes-roth"):
        assert load("hayes-roth", str(tmp_path / "b")).feature_names[0] == "g0"
    monkeypatch.setenv("TOPKTREE_DATA", "")
    assert "no folder is given" in message(load, "hayes-roth")


@pytest.mark.parametrize(
    ("shape", "found"),
    [
        ({"rows": 159}, "159 rows, 4 features and 3 classes"),
        ({"rows": 0}, "0 rows, 4 features and 0 classes"),
        ({"features": 5}, "160 rows, 5 features and 3 classes"),
        ({"classes": 4}, "160 rows, 4 features and 4 classes"),
    ],
)
def test_a_file_of_another_shape(tmp_path, shape, found):
    write(tmp_path / "hayes-roth.csv.gz", hayes_roth(**shape))
    expected = "dataset 'hayes-roth' must have 160 rows, 4 features and 3 classes"
    said = message(load, "hayes-roth", tmp_path, error=ValueError)
    assert said == f"{tmp_path / 'hayes-roth.csv.gz'} has {found}; {expected}"


def damaged_files():
    whole = gzip.compress(hayes_roth().encode())
    flipped = whole[:40] + bytes([whole[40] ^ 255]) + whole[41:]
    return {
        "truncated": (whole[:-50], "is damaged: "),
        "flipped": (flipped, "is damaged: "),
        "not-gzip": (hayes_roth().encode(), "is damaged: Not a gzipped file"),
        "not-utf-8": (gzip.compress(b"a,b\n\xff,1\n"), "is damaged: 'utf-8' codec"),
        "short-row": (
            gzip.compress(hayes_roth().encode() + b"1,2\n"),
            "is damaged: line 162 has 2 fields; the first has 5",
        ),
        "long-row": (
            gzip.compress(hayes_roth().replace("\n0,", "\n0,0,", 1).encode()),
            "is damaged: line 2 has 6 fields; the first has 5",
        ),
        "empty": (b"", "has no first line"),
        "nothing-in-it": (gzip.compress(b""), "has no first line"),
    }


@pytest.mark.parametrize(("content", "said"), damaged_files().values(), ids=damaged_files())
def test_a_damaged_file_is_named(tmp_path, content, said):
    path = tmp_path / "hayes-roth.csv.gz"
    path.write_bytes(content)
    assert message(load, "hayes-roth", tmp_path, error=ValueError).startswith(f"{path} {said}")


def test_two_parts_that_do_not_fit(tmp_path):
    write(tmp_path / "avila-train.csv.gz", "a,b,class\n1,2,A\n")
    assert "which lacks avila-test.csv.gz" in message(load, "avila", tmp_path)
    write(tmp_path / "avila-test.csv.gz", "a,c,class\n1,2,A\n")
    said = message(load, "avila", tmp_path, error=ValueError)
    assert "avila-test.csv.gz has other names in its first line than" in said
    write(tmp_path / "avila-test.csv.gz", "a,b,class\n1,2,A\n")
    said = message(load, "avila", tmp_path, error=ValueError)
    assert said == f"{tmp_path / 'avila-train.csv.gz'} has 1 rows; it must have 10430"


# What a user can get wrong.


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("connect4", "did you mean 'connect-4'? "),
        ("Avila", "did you mean 'avila'? "),
        ("zzz", ""),
        ("", ""),
        (7, ""),
        (None, ""),
        (["car"], ""),
    ],
)
def test_unknown_name(name, hint):
    allowed = ", ".join(map(repr, [*TABLE, "fico", "dry-bean-repaired", "FICO"]))
    assert message(load, name, error=ValueError) == f"name is {name!r}; {hint}allowed are {allowed}"


@pytest.mark.parametrize("folder", ["", "no such folder", __file__])
def test_data_home_that_is_no_folder(folder, monkeypatch):
    said = f"{folder!r}, which is not a folder; allowed is a folder of csv.gz files"
    assert message(load, "car", folder, error=ValueError) == f"data_home is {said}"
    if folder:
        monkeypatch.setenv("TOPKTREE_DATA", folder)
        assert message(load, "car", error=ValueError) == f"$TOPKTREE_DATA is {said}"


@pytest.mark.parametrize("folder", [0, True, b"x"])
def test_data_home_that_is_no_path(folder):
    with pytest.raises(TypeError, match=re.escape(f"data_home is {folder!r}; allowed are None and the path")):
        load("car", folder)


# Neither source has it.


def test_no_file_and_no_id(tmp_path):
    assert issubclass(DataNotFound, FileNotFoundError)
    original = "the original is at https://archive.ics.uci.edu/ml/datasets/MiniBooNE+particle+identification"
    online = f"OpenML: the paper's table gives no OpenML id; {original}"
    assert message(load, "miniboone") == (
        "dataset 'miniboone' was not found. Folder: no folder is given: set data_home or $TOPKTREE_DATA to one that "
        f"has miniboone.csv.gz. {online}"
    )
    assert message(load, "miniboone", tmp_path) == (
        f"dataset 'miniboone' was not found. Folder: data_home is {str(tmp_path)!r}, which lacks miniboone.csv.gz: put "
        f"it there, or set data_home or $TOPKTREE_DATA to a folder that has miniboone.csv.gz. {online}"
    )


def test_no_file_and_no_network(tmp_path, monkeypatch):
    # The real fetch_openml, whose warnings of each attempt would be errors here.
    monkeypatch.setenv("TOPKTREE_DATA", str(tmp_path))
    said = message(load, "car")
    assert f"$TOPKTREE_DATA is {str(tmp_path)!r}, which lacks car.csv.gz" in said
    assert said.endswith(
        "OpenML: the dataset with id 21 (https://www.openml.org/d/21) could not be fetched: "
        "URLError: <urlopen error no network in this test>"
    )


@pytest.mark.parametrize(
    "error",
    [
        urllib.error.HTTPError("https://openml.org", 503, "busy", Message(), None),
        TimeoutError("too slow"),
        PermissionError("no place for a cache"),
        http.client.IncompleteRead(b""),
        ValueError("md5 checksum does not match"),
    ],
    ids=lambda error: type(error).__name__,
)
def test_what_went_wrong_is_said(error, monkeypatch):
    def fetch_openml(**options):
        raise error

    monkeypatch.setattr("sklearn.datasets.fetch_openml", fetch_openml)
    with pytest.raises(DataNotFound, match="id 21 ") as caught:
        load("car")
    assert str(caught.value).endswith(f"could not be fetched: {type(error).__name__}: {error}")
    assert caught.value.__cause__ is error


# OpenML.


def openml(monkeypatch, bunch):
    """Let scikit-learn fetch this; the options of each call."""
    calls = []

    def fetch_openml(**options):
        calls.append(options)
        return bunch

    monkeypatch.setattr("sklearn.datasets.fetch_openml", fetch_openml)
    return calls


def fetched(data, target, categories=None, names=None):
    names = names or [f"V{j}" for j in range(data.shape[1])]
    return Bunch(data=data, target=target, categories=categories or {}, feature_names=names)


def tic_tac_toe():
    """The dataset as scikit-learn gives it: codes and, apart from them, categories."""
    bunch = load_tic_tac_toe()
    codes = np.array([["oxb".index(value) for value in row] for row in bunch.data], dtype=np.float64)
    categories = {name: ["o", "x", "b"] for name in bunch.feature_names}
    return fetched(codes, bunch.target.astype(object), categories, bunch.feature_names)


def test_categories_from_openml(monkeypatch):
    calls = openml(monkeypatch, tic_tac_toe())
    bunch, expected = load("tic-tac-toe"), load_tic_tac_toe()
    assert calls == [{"data_id": 50, "as_frame": False, "parser": "liac-arff"}]
    assert bunch.data.dtype == object
    np.testing.assert_array_equal(bunch.data, expected.data)
    np.testing.assert_array_equal(bunch.target, expected.target)
    assert bunch.target.dtype.kind == "U"
    assert bunch.feature_names == expected.feature_names
    assert bunch.target_names == ["negative", "positive"]
    assert "OpenML's dataset 50" in bunch.DESCR


def test_a_folder_without_the_file_leads_to_openml(monkeypatch, tmp_path):
    calls = openml(monkeypatch, tic_tac_toe())
    write(tmp_path / "car.csv.gz", "a,class\n")
    assert load("tic-tac-toe", tmp_path).data.shape == (958, 9)
    assert len(calls) == 1


def test_a_missing_category_from_openml(monkeypatch):
    source = tic_tac_toe()
    source.data[3, 2] = np.nan
    openml(monkeypatch, source)
    assert load("tic-tac-toe").data[3, :3].tolist() == ["x", "x", "?"]


def test_categories_that_are_integers(monkeypatch):
    codes = np.arange(556 * 6, dtype=np.float64).reshape(556, 6) % 3
    target = np.array(["0", "1"] * 278, dtype=object)
    openml(monkeypatch, fetched(codes, target, {f"V{j}": ["10", "20", "30"] for j in range(6)}))
    bunch = load("monks-1")
    assert bunch.data.dtype == np.int64
    assert bunch.data[0].tolist() == [10, 20, 30, 10, 20, 30]
    assert bunch.target.dtype == np.int64


def test_numbers_and_categories_together(monkeypatch):
    codes = np.zeros((1728, 6))
    codes[0] = [0, 1, 2.5, 3, np.nan, 0]
    target = np.array(["acc", "good", "unacc", "vgood"] * 432, dtype=object)
    openml(monkeypatch, fetched(codes, target, {"V0": [" low ", "high"], "V1": ["low", "high"]}))
    assert load("car").data[0].tolist() == ["low", "high", "2.5", "3", "nan", "0"]


def test_integers_and_letters_from_openml(monkeypatch):
    data = np.arange(20000 * 16, dtype=np.float64).reshape(20000, 16) % 15
    target = np.array([chr(ord("A") + i % 26) for i in range(20000)], dtype=object)
    openml(monkeypatch, fetched(data, target))
    bunch = load("letter-recognition")
    assert bunch.data.dtype == np.int64
    np.testing.assert_array_equal(bunch.data, data)
    assert "".join(bunch.target_names) == "ABCDEFGHIJKLMNOPQRSTUVWXYZ"


def test_telescope_of_openml_gets_the_files_labels(monkeypatch):
    data = np.random.default_rng(0).normal(size=(19020, 10))
    target = np.array(["g"] * 12332 + ["h"] * 6688, dtype=object)
    openml(monkeypatch, fetched(data, target, names=[f"f{j}:" for j in range(10)]))
    bunch = load("telescope")
    np.testing.assert_array_equal(bunch.data, data)  # text and back: no bit is lost
    assert np.bincount(bunch.target).tolist() == [12332, 6688]
    assert bunch.feature_names[0] == "f0"


def test_connect_4_of_openml_is_the_file(monkeypatch):
    expected = published("connect-4")
    codes = np.searchsorted(["b", "o", "x"], expected.data.astype(str)).astype(np.float64)
    target = np.searchsorted(["draw", "loss", "win"], expected.target).astype(str).astype(object)
    names = expected.feature_names
    openml(monkeypatch, fetched(codes, target, {name: ["0", "1", "2"] for name in names}, names))
    bunch = load("connect-4")
    np.testing.assert_array_equal(bunch.data, expected.data)
    np.testing.assert_array_equal(bunch.target, expected.target)


@pytest.mark.parametrize(
    ("part", "found"),
    [
        (np.s_[:957, :], "957 rows, 9 features and 2 classes"),
        (np.s_[:, :8], "958 rows, 8 features and 2 classes"),
        (np.s_[:600, :], "600 rows, 9 features and 1 classes"),
    ],
)
def test_another_shape_from_openml(monkeypatch, part, found):
    source = tic_tac_toe()
    openml(
        monkeypatch,
        fetched(source.data[part], source.target[part[0]], source.categories, source.feature_names[part[1]]),
    )
    expected = "dataset 'tic-tac-toe' must have 958 rows, 9 features and 2 classes"
    said = message(load, "tic-tac-toe", error=ValueError)
    assert said == f"OpenML's dataset 50 has {found}; {expected}"


def test_no_class_from_openml(monkeypatch):
    source = tic_tac_toe()
    source.target = None
    openml(monkeypatch, source)
    assert "958 rows, 9 features and 1 classes" in message(load, "tic-tac-toe", error=ValueError)


def put_on_openml(internet, bunch, arff, md5):
    """The four answers that fetch_openml asks for."""
    url = "https://www.openml.org/data/v1/download/50/tic-tac-toe.arff"
    names = [*bunch.feature_names, "Class"]
    features = [
        {
            "index": str(j),
            "name": name,
            "data_type": "nominal",
            "is_target": str(name == "Class").lower(),
            "is_ignore": "false",
            "is_row_identifier": "false",
            "number_of_missing_values": "0",
        }
        for j, name in enumerate(names)
    ]
    description = {"id": "50", "name": "tic-tac-toe", "version": "1", "format": "ARFF", "status": "active"}
    description |= {"description": "end positions", "url": url, "file_id": "50", "md5_checksum": md5}
    answers = {
        "/data/50": {"data_set_description": description},
        "/data/features/50": {"data_features": {"feature": features}},
        "/data/qualities/50": {"data_qualities": {"quality": [{"name": "NumberOfInstances", "value": "958"}]}},
    }
    internet.pages = {end: json.dumps(answer).encode() for end, answer in answers.items()} | {url: arff}


def as_arff(bunch):
    lines = ["@relation tic-tac-toe", *(f"@attribute '{name}' {{b,o,x}}" for name in bunch.feature_names)]
    lines += ["@attribute 'Class' {negative,positive}", "@data"]
    lines += [",".join([*row, label]) for row, label in zip(bunch.data, bunch.target, strict=True)]
    return "\n".join(lines).encode()


def test_scikit_learn_fetches_without_pandas(internet, monkeypatch):
    expected = load_tic_tac_toe()
    arff = as_arff(expected)
    put_on_openml(internet, expected, arff, hashlib.md5(arff).hexdigest())
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(ImportError):
        import pandas  # noqa: F401
    bunch = load("tic-tac-toe")
    np.testing.assert_array_equal(bunch.data, expected.data)
    np.testing.assert_array_equal(bunch.target, expected.target)
    assert bunch.feature_names == expected.feature_names
    internet.pages = {}
    assert load("tic-tac-toe").data.shape == (958, 9)  # from scikit-learn's cache


@pytest.mark.filterwarnings("ignore:Invalid cache:RuntimeWarning")  # scikit-learn tries once more
def test_a_damaged_download(internet):
    expected = load_tic_tac_toe()
    put_on_openml(internet, expected, as_arff(expected), "0" * 32)
    assert re.search("could not be fetched: ValueError: .*md5", message(load, "tic-tac-toe"))
