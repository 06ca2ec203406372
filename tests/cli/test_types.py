"""`--type`: dates that become numbers, categories that have an order, and dates that nobody mentions."""

import datetime

import numpy as np
import pandas as pd
import pytest
from support.people import assert_mistake, run

import topktree
from topktree._cli.columns import days_since_1970


def fit(path, *arguments, target="y"):
    return run("fit", path, "--target", target, "--test-size", "0", "--depth", "1", *arguments)


@pytest.mark.parametrize(
    ("text", "days"),
    [
        ("1970-01-01", 0),
        ("2020-01-31", 18292),
        ("2020-1-31", 18292),
        ("1969-12-31", -1),
        ("9999-12-31", 2932896),
        (" 2020-01-31 ", 18292),
        ("2020/01/31", 18292),
        ("31.01.2020", 18292),
        ("31.1.2020 6:00", 18292.25),
        ("2020-01-31 12:30", 18292 + 12.5 / 24),
        ("2020-01-31T12:00:00", 18292.5),
        ("2020-01-31 12:00:00.000", 18292.5),
        ("2020-01-31 00:00:00.123456789", 18292 + 0.123456 / 86400),
        ("2020-01-31T12:00Z", 18292.5),
        ("2020-01-31 13:00+01:00", 18292.5),
        ("2020-01-31 07:00:00 -0500", 18292.5),
        ("12:00", 0.5),
        ("6:00:00", 0.25),
        *[
            (text, None)
            for text in ("", " ", "2020", "2020-01", "2020-02-30", "2020-13-01", "31.13.2020", "soon", "1.5")
        ],
        *[(text, None) for text in ("1.2.3", "2020-01/31", "01/02/2020", "12:61", "25:00", "1:2", "2020-01-31x")],
    ],
)
def test_days(text, days):
    assert days_since_1970(text) == (None if days is None else pytest.approx(days, abs=1e-11))


DATES = ["2019-12-30", "2020-01-31", "2021-06-15", "2022-02-28"]


@pytest.fixture
def dated(tmp_path):
    path = tmp_path / "people.csv"
    pd.DataFrame({"joined": DATES * 5, "x": range(20), "y": ["a", "a", "b", "b"] * 5}).to_csv(path, index=False)
    return path


@pytest.mark.parametrize(
    "values",
    [
        DATES,
        ["2020-01-31 12:30", None, "2020-01-31 12:30:15.123", "2020-01-31T12:30:15Z"],
        ["31.01.2020", "1.2.2021", "", "31.01.2020"],
        ["12:30", "12:31", "12:32", "23:59:59"],
    ],
)
def test_dates_are_refused_with_the_ways_out(tmp_path, values):
    path = tmp_path / "people.csv"
    pd.DataFrame({"joined": values, "x": [1, 2, 3, 4], "y": list("abab")}).to_csv(path, index=False)
    words = [f"the column 'joined' of {path} has dates or times such as {values[0]!r}"]
    words += ["--type joined=date", "days since 1970-01-01", "--type joined=category", "--drop joined"]
    assert_mistake(fit(path), *words)
    assert_mistake(run("choose", path, "--target", "y"), *words)
    for way in (["--type", "joined=date"], ["--type", "joined=category"], ["--drop", "joined"]):
        result = fit(path, *way)
        assert (result.exit_code, result.stderr) == (0, ""), result.output


def test_dates_are_good_classes(dated):
    assert fit(dated, target="joined").exit_code == 0


def test_dates_whose_order_is_unknown(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("when,x,y\n01/02/2020,1,a\n13/02/2020,2,b\n")
    assert_mistake(fit(path), "'when'", "'01/02/2020'", "day and month", "--type when=category", "--drop when")
    assert_mistake(fit(path, "--type", "when=date"), "must hold dates", "2020-01-31", "'01/02/2020' in row 1")
    assert fit(path, "--type", "when=category").exit_code == 0


@pytest.mark.parametrize("values", [["2020-01-31", "unknown"], ["1-2", "3-4"], ["1.2.3", "1.2.4"], ["16:9", "4:3"]])
def test_texts_that_are_no_dates(tmp_path, values):
    path = tmp_path / "t.csv"
    pd.DataFrame({"when": values, "y": ["a", "b"]}).to_csv(path, index=False)
    assert fit(path).exit_code == 0


def test_dates_become_numbers_in_training_and_in_prediction(dated, tmp_path):
    model = tmp_path / "m.json"
    result = fit(dated, "--type", "joined=date", "--drop", "x", "--save", model)
    assert result.exit_code == 0, result.output
    clf = topktree.load(model)
    assert clf.features_[0].kind == "number"
    wanted = [(datetime.date.fromisoformat(text) - datetime.date(1970, 1, 1)).days for text in DATES]
    assert wanted[1] <= clf.tree_.threshold[0] < wanted[2]
    new = tmp_path / "new.csv"
    new.write_text("x,joined\n1,2019-12-31\n2,\n3,2023-01-01 12:00\n4,1.1.2019\n")
    result = run("predict", model, new, "--keep")
    lines = result.stdout.splitlines()[1:]
    assert [lines[0], *lines[2:]] == ["1,2019-12-31,a", "3,2023-01-01 12:00,b", "4,1.1.2019,a"]
    said, warned = result.stderr.splitlines()
    assert said == f"{new}: the dates of 'joined' are read as days since 1970-01-01"
    assert "joined is missing in 1 row" in warned
    new.write_text("joined\n18000\n20000.5\n")  # days are numbers like any other
    result = run("predict", model, new)
    assert (result.stdout, result.stderr) == ("prediction\na\nb\n", "")
    new.write_text("x,joined\n1,2019-12-31\n2,\n3,soon\n")
    assert_mistake_after(run("predict", model, new), "'joined'", "must hold dates", "'soon' in row 3")


def assert_mistake_after(result, *words):
    """Check an error that follows lines about the file."""
    assert (result.exit_code, result.stdout) == (2, "")
    for word in words:
        assert word in result.stderr.splitlines()[-1]


def test_values_that_are_no_dates(dated):
    dated.write_text(dated.read_text() + "soon,1,a\n")
    assert_mistake(
        fit(dated, "--type", "joined=date"),
        f"'joined' of {dated}",
        "must hold dates",
        "as --type says",
        "'soon' in row 21",
    )
    assert_mistake(fit(dated, "--type", "x=date"), "'x'", "must hold dates", "'0' in row 1")
    assert_mistake(fit(dated, "--type", "y=date"), "--type y=date", "the target")


@pytest.mark.parametrize(
    "values",
    [
        pd.to_datetime(DATES),
        pd.to_datetime(DATES).as_unit("ms"),
        pd.to_datetime(DATES).tz_localize("UTC").tz_convert("Europe/Berlin"),
        [datetime.date.fromisoformat(text) for text in DATES],
        pd.Categorical(DATES),
    ],
)
@pytest.mark.parametrize("form", ["parquet", "feather"])
def test_typed_files(dated, tmp_path, values, form):
    model, typed, path = tmp_path / "m.json", tmp_path / "n.json", tmp_path / f"t.{form}"
    frame = pd.read_csv(dated)
    frame["joined"] = pd.Series(values).repeat(5).reset_index(drop=True)
    frame["y"] = np.repeat(["a", "a", "b", "b"], 5)
    getattr(frame, f"to_{form}")(path)
    frame.assign(joined=np.repeat(DATES, 5)).to_csv(dated, index=False)
    arguments = ["--type", "joined=date", "--drop", "x", "--save"]
    assert fit(dated, *arguments, model).exit_code == 0
    assert fit(path, *arguments, typed).exit_code == 0
    assert topktree.load(model).export_dict() == topktree.load(typed).export_dict()
    result = run("predict", model, path)
    assert result.stdout == run("predict", typed, dated).stdout
    assert result.stderr == f"{path}: the dates of 'joined' are read as days since 1970-01-01\n"


def test_typed_dates_are_refused_by_default(tmp_path):
    path = tmp_path / "t.parquet"
    pd.DataFrame({"when": pd.to_datetime(DATES), "y": list("abab")}).to_parquet(path)
    assert_mistake(fit(path), "dates", "--type when=date", "--drop when")
    frame = pd.DataFrame({"when": pd.to_timedelta([1, 2, 3, 4], unit="s"), "x": 1, "y": list("abab")})
    frame.to_parquet(path)
    assert_mistake(fit(path, "--type", "when=date"), "must hold dates", "in row 1")


def test_dates_of_a_test_file(dated, tmp_path):
    result = run("fit", dated, "--target", "y", "--type", "joined=date", "--test", dated)
    assert result.exit_code == 0, result.output
    assert result.stderr == f"{dated}: the dates of 'joined' are read as days since 1970-01-01\n"


SIZES = ["S", "M", "L", "M"]


@pytest.fixture
def sized(tmp_path):
    """S is small, M and L are big: in the order of the alphabet there is no such threshold."""
    path = tmp_path / "sizes.csv"
    frame = pd.DataFrame({"size": SIZES * 6, "x": range(24)})
    frame.assign(y=np.where(frame["size"] == "S", "small", "big")).to_csv(path, index=False)
    return path


def test_ordered_categories(sized, tmp_path):
    model = tmp_path / "m.json"
    result = fit(sized, "--type", "size=S<M<L<XL", "--drop", "x", "--save", model)
    assert (result.exit_code, result.stderr) == (0, "")
    clf = topktree.load(model)
    (feature,) = clf.features_
    assert (feature.categories, feature.ordered) == (("S", "M", "L", "XL"), True)
    frame = pd.read_csv(sized)
    frame["size"] = pd.Categorical(frame["size"], ["S", "M", "L", "XL"], ordered=True)
    same = topktree.TopKTreeClassifier(max_depth=1).fit(frame[["size"]], frame["y"])
    assert clf.export_text() == same.export_text()
    assert "size <= " in result.stdout
    new = tmp_path / "new.csv"
    new.write_text("size,z\nXL,1\nS,1\n,1\nXXL,1\n")
    result = run("predict", model, new)
    assert result.stdout.splitlines()[1:3] == ["big", "small"]
    assert result.stderr.count("\n") == 1
    assert "size is missing in 1 row; training had no missing values. It has a value in 1 row that" in result.stderr
    tested = run("fit", sized, "--target", "y", "--type", "size=S < M<L", "--test", sized)
    assert (tested.exit_code, tested.stderr) == (0, "")
    assert "Test      accuracy 100.0%" in tested.stdout
    arguments = ["--type", "size=S<M<L", "--ks", "1", "--depths", "1", "--cv", "2"]
    assert "size <= " in run("choose", sized, "--target", "y", "--drop", "x", *arguments).stdout


def test_orders_of_numbers(tmp_path):
    frame = pd.DataFrame({"grade": [10, 9, 2, 1] * 5, "y": ["a", "a", "b", "b"] * 5})
    frame.to_csv(tmp_path / "t.csv", index=False)
    frame.to_parquet(tmp_path / "t.parquet")
    texts = [fit(tmp_path / name, "--type", "grade=10<9<2<1").stdout for name in ("t.csv", "t.parquet")]
    for text in texts:
        assert "grade <= " in text
        assert "accuracy 100.0%" in text
    assert texts[0].split("\n\n")[1] == texts[1].split("\n\n")[1]


def test_mistakes_in_orders(sized):
    words = [f"'size' of {sized}", "must hold S or M, as --type says", "'L' in row 3"]
    assert_mistake(fit(sized, "--type", "size=S<M"), *words)
    assert_mistake(fit(sized, "--type", "size=S<M<S<L"), "--type size=S<M<S<L", "'S' twice")
    assert_mistake(fit(sized, "--type", "size=S<<L"), "--type size=S<<L", "an empty value")
    assert_mistake(fit(sized, "--type", "y=small<big"), "--type y=small<big", "the target")
    assert_mistake(fit(sized, "--type", "size=S<a=b"), "--type size=S<a=b")
    assert_mistake(fit(sized, "--type", "nosuch=S<M"), "--type nosuch: ", "no such column")
