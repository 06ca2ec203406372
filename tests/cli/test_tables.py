"""Table files of every format to frames and back, and what a table can have wrong."""

import datetime
import gzip
import os
import threading
from decimal import Decimal

import numpy as np
import pandas as pd
import pyarrow.feather
import pytest
from support.people import make_people

from topktree._cli.columns import read_labelled, read_target
from topktree._cli.messages import Mistake
from topktree._cli.table_files import TableFile, write_table

FORMATS = ["csv", "csv.gz", "parquet", "pq", "feather"]


@pytest.mark.parametrize("end", FORMATS)
def test_there_and_back(tmp_path, end):
    frame = make_people(30).astype({"job": object, "zone": object, "income": object})
    path = tmp_path / f"people.{end}"
    write_table(frame, path)
    found = TableFile(str(path)).read(as_text=["zone", "no such column"])
    pd.testing.assert_frame_equal(found, frame, check_dtype=False)
    assert [t.kind for t in found.dtypes] == list("iOfbOiO")
    assert os.listdir(tmp_path) == [path.name]


@pytest.mark.parametrize("end", FORMATS)
def test_the_first_bytes_say_what_a_file_is(tmp_path, end):
    frame = make_people(30)
    path, other = tmp_path / f"people.{end}", tmp_path / "people.txt"
    write_table(frame, path)
    path.rename(other)
    assert TableFile(str(other)).read().shape == frame.shape


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes")
def test_a_pipe_with_a_name(tmp_path):
    path = tmp_path / "pipe"
    os.mkfifo(path)
    writer = threading.Thread(target=path.write_bytes, args=(b"a,b\n1,x\n2,y\n",))
    writer.start()
    file = TableFile(str(path))
    writer.join()
    assert file.read().shape == (2, 2)
    assert file.read_as_written()["a"].tolist() == ["1", "2"]


@pytest.mark.parametrize(
    ("name", "content", "word"),
    [
        ("a.csv", b"a,b,a\n1,2,3\n", "more than one column named 'a'"),
        ("a.csv", b"a, b, b\n1,2,3\n", "more than one column named ' b'"),
        ("a.csv", b"\x00\x01\x02\x03" * 100, "it must be CSV (in UTF-8), Parquet or Feather"),
        ("a.csv", "a,b\n1,2\n".encode("utf-16"), "UTF-8"),
        ("a.csv", b"a,b\n" + b"1,2\n" * 300_000 + b"1\0,2\n", "bytes that are 0"),  # far below
        ("a.csv", gzip.compress(b"a,b\n1\0,2\n", mtime=0), "bytes that are 0"),
        ("a.csv", "a,b\nü,2\n".encode("latin-1"), "not a CSV file in UTF-8, it has the byte 0xfc: convert it"),
        ("a.csv", b"a,b\n" + b"1,2\n" * 300_000 + b"\xfc,2\n", "it has the byte 0xfc"),
        ("a.csv", b"# made today\na,b,c\n1,2,3\n", "more values than its first line has names"),
        ("a.csv", b"a,b\n0,1,2\n1,3,4\n", "more values than its first line has names"),  # 0, 1: like numbers of rows
        ("a.csv", b"a,b\n7,1,2\n9,3,4\n", "more values than its first line has names"),
        ("a.csv", b"a,b\n1,2\n3,4,5\n", "is not a CSV file: Expected 2 fields in line 3, saw 3"),
        ("a.csv", b'a,b\n1,"2\n3,4\n', "is not a CSV file: EOF inside string"),
        ("a.csv", b"a" * 200_000 + b",b\n1,2\n", "field larger than field limit (131072)"),
        ("a.csv", b" \n\n", "is empty"),
        ("a.csv.gz", gzip.compress(b"a,b\n1,2\n" * 99, mtime=0)[:-9], "is not a CSV file: Compressed file ended"),
        ("a.csv.gz", b"\x1f\x8bno gzip at all", "cannot be read: Unknown compression method"),
        ("a.zip", b"PK\3\4\24\0\0\0", "it must be CSV (in UTF-8), Parquet or Feather"),
        ("a.csv", gzip.compress(b"", mtime=0), "is empty"),
        ("a.parquet", b"a,b\n1,2\n", "is not a Parquet file"),
        ("a.feather", b"a,b\n1,2\n", "is not a Feather file"),
        ("a.parquet", b"PAR1PAR1", "not a Parquet file that can be read"),
        ("a.feather", b"ARROW1\0\0nothing", "not a Feather file that can be read"),
    ],
)
def test_files_that_will_not_do(tmp_path, name, content, word):
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(Mistake, match=r"^[^\n]*$") as caught:
        TableFile(str(path)).read()
    assert word in caught.value.message
    assert str(path) in caught.value.message


@pytest.mark.parametrize(
    ("content", "rows"),
    [
        (b"\xef\xbb\xbfa,b\n1,x\n2,y\n", [[1, "x"], [2, "y"]]),
        (b"a,b\r\n1,x\r\n2,y\r\n", [[1, "x"], [2, "y"]]),
        (b"a,b\r1,x\r2,y\r", [[1, "x"], [2, "y"]]),
        (b"a,b\n\n1,x\n\n2,y", [[1, "x"], [2, "y"]]),
        (b'a,b\n1,"x\r\nz"\n2,"says ""y, z"""\n', [[1, "x\r\nz"], [2, 'says "y, z"']]),
        (b"a;b\n1,5;x\n2,5;y\n", [[1.5, "x"], [2.5, "y"]]),
        (b"a,b\n1,x\n2\n", [[1, "x"], [2, None]]),
        (b"a,b\n1," + b"x" * 200_000 + b"\n", [[1, "x" * 200_000]]),
    ],
)
def test_odd_files_that_are_read(tmp_path, content, rows):
    for name, raw in (("t.csv", content), ("t.csv.gz", gzip.compress(content)), ("fake.gz", content)):
        path = tmp_path / name
        path.write_bytes(raw)
        frame = TableFile(str(path)).read()
        assert list(frame.columns) == ["a", "b"]
        assert frame.astype(object).where(frame.notna(), None).to_numpy().tolist() == rows


def test_damaged_feather_files(tmp_path):
    path = tmp_path / "t.feather"
    pyarrow.feather.write_feather(pyarrow.table({"v": ["aaa", "bb", "cccc"] * 9}), path, compression="uncompressed")
    raw, ends = path.read_bytes(), np.array([3, 5, 9, 12, 14, 18], dtype=np.int32).tobytes()
    assert raw.count(ends) == 1
    path.write_bytes(raw.replace(ends, b"\xff\xff\xff\x7f" + ends[4:]))  # a text that ends far beyond the file
    with pytest.raises(Mistake, match="not a Feather file that can be read"):
        TableFile(str(path)).read()


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may read everything")
def test_a_file_that_may_not_be_read(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("a,b\n1,2\n")
    path.chmod(0)
    with pytest.raises(Mistake, match=r"t.csv cannot be read: Permission denied$"):
        TableFile(str(path)).read()


@pytest.mark.parametrize(
    ("name", "why"), [("", "Is a directory"), (".", "Is a directory"), ("none.csv", "No such file")]
)
def test_paths_that_are_no_file(tmp_path, monkeypatch, name, why):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(Mistake) as caught:
        TableFile(name)
    assert caught.value.message.startswith(f"{name or repr('')} cannot be read: {why}")


def test_without_pyarrow(tmp_path, monkeypatch):
    path = tmp_path / "a.parquet"
    write_table(make_people(5), path)
    monkeypatch.setattr("topktree._cli.table_files.find_spec", lambda name: None)
    with pytest.raises(Mistake, match=r"needs pyarrow: pip install 'topktree\[cli\]'"):
        TableFile(str(path)).read()


def test_parquet_without_rows(tmp_path):
    path = tmp_path / "a.parquet"
    make_people(5)[:0].to_parquet(path)
    with pytest.raises(Mistake, match=r"has no rows$"):
        TableFile(str(path)).read()


def test_names_of_rows_are_a_column(tmp_path):
    frame = make_people(9)
    frame.set_index("age").to_parquet(tmp_path / "named.parquet")
    assert list(TableFile(str(tmp_path / "named.parquet")).read().columns) == list(frame.columns)
    frame[3:].to_parquet(tmp_path / "part.parquet")  # whose rows have numbers from 3 on
    found = TableFile(str(tmp_path / "part.parquet")).read()
    assert (list(found.columns), list(found.index)) == (list(frame.columns), list(range(6)))


def test_a_link_stays_one(tmp_path):
    target, link = tmp_path / "a.csv", tmp_path / "b.csv"
    link.symlink_to(target)
    write_table(make_people(5), link)
    assert link.is_symlink()
    assert TableFile(str(target)).read().shape == (5, 7)


@pytest.mark.parametrize(
    ("values", "words"),
    [
        (pd.to_datetime(["2020-01-01", "2021-01-01"] * 3), ["dates or durations", "--drop when"]),
        (pd.to_timedelta([1, 2] * 3, unit="s"), ["dates or durations"]),
        ([datetime.date(2020, 1, 1), None] * 3, ["dates or durations"]),
        ([[1], [2, 3]] * 3, ["lists or the like", "--drop when"]),
    ],
)
def test_parquet_types_that_no_tree_can_test(tmp_path, values, words):
    path = tmp_path / "a.parquet"
    pd.DataFrame({"when": values, "x": range(6), "y": ["a", "b"] * 3}).to_parquet(path)
    with pytest.raises(Mistake) as caught:
        read_labelled(TableFile(str(path)), "y")
    for word in (f"'when' of {path}", *words):
        assert word in caught.value.message
    assert list(read_labelled(TableFile(str(path)), "y", drop=["when"]).X.columns) == ["x"]


@pytest.mark.parametrize(
    ("values", "labels"),
    [
        (pd.Categorical(["a", "b", "a"]), ["a", "b"]),
        (pd.Categorical([3, 1, 3]), [1, 3]),
        (pd.array([2, 1, 2], dtype="Int64"), [1, 2]),
        (pd.array([True, False, True], dtype="boolean"), [False, True]),
        (
            [datetime.date(2020, 1, 2), datetime.date(2020, 1, 1), datetime.date(2020, 1, 1)],
            ["2020-01-01", "2020-01-02"],
        ),
        (pd.to_datetime(["2020-01-02", "2020-01-01", "2020-01-01"]), ["2020-01-01", "2020-01-02"]),
        ([Decimal(1), Decimal(2), Decimal(1)], ["1", "2"]),
    ],
)
def test_targets_of_every_type(values, labels):
    assert np.unique(read_target(pd.Series(values, name="y"), "t.parquet").to_numpy()).tolist() == labels
