"""`topktree predict`: the rows' classes against the estimator's, from files that look unlike the training data."""

import gzip
import io
import os
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from support.people import assert_mistake, make_people, run

import topktree
from topktree import TopKTreeClassifier


@pytest.fixture(scope="module")
def people():
    return make_people()


@pytest.fixture(scope="module")
def trained(people, tmp_path_factory):
    """A tree of all kinds of features; zone is text that looks like numbers."""
    folder = tmp_path_factory.mktemp("model")
    path = folder / "model.json"
    people.to_csv(folder / "people.csv", index=False)
    arguments = ["--type", "zone=category", "--depth", "6", "-k", "4", "--test-size", "0", "--save", path]
    result = run("fit", folder / "people.csv", "--target", "income", *arguments)
    assert result.exit_code == 0, result.output
    assert topktree.load(path).tree_.used_features() == list(range(6))
    return path


@pytest.fixture(scope="module")
def small(people, tmp_path_factory):
    """A tree that uses two of six features, neither of which has missing values."""
    path = tmp_path_factory.mktemp("model") / "small.json"
    X = people.drop(columns="income")
    clf = TopKTreeClassifier(k=8, max_depth=2).fit(X, people["income"])
    assert {clf.features_[f].name for f in clf.tree_.used_features()} == {"age", "job"}
    clf.save(path)
    return path


@pytest.fixture
def new(tmp_path):
    path = tmp_path / "new.csv"
    make_people(60, seed=3).to_csv(path, index=False)
    return path


def wanted(trained, frame):
    return topktree.load(trained).predict(frame[["age", "job", "height", "urban", "zone", "count"]])


def read(text, **options):
    return pd.read_csv(io.StringIO(text), **options)


def test_standard_output(trained, new):
    result = run("predict", trained, new)
    assert result.exit_code == 0, result.output
    assert result.stderr == ""
    frame = read(result.stdout)
    assert list(frame.columns) == ["prediction"]
    assert list(frame["prediction"]) == list(wanted(trained, make_people(60, seed=3)))
    assert len(set(frame["prediction"])) == 2


@pytest.mark.parametrize("name", ["out.csv", "out.csv.gz", "out.parquet", "out.pq", "out.feather"])
def test_files(trained, new, tmp_path, name):
    result = run("predict", trained, new, "-o", tmp_path / name)
    assert result.exit_code == 0, result.output
    readers = {"csv": pd.read_csv, "gz": pd.read_csv, "feather": pd.read_feather}
    frame = readers.get(name.rsplit(".", 1)[1], pd.read_parquet)(tmp_path / name)
    labels = list(wanted(trained, make_people(60, seed=3)))
    assert list(frame["prediction"]) == labels
    assert result.stdout.startswith(f"{tmp_path / name}: 60 rows; ")
    assert f"low {labels.count('low')}" in result.stdout
    assert {path.name for path in tmp_path.iterdir()} == {"new.csv", name}  # no partial file


def test_probabilities_rules_and_columns_that_are_kept(trained, new):
    result = run("predict", trained, new, "--proba", "--rule", "--keep", "--column", "guess")
    frame = read(result.stdout, dtype=str)
    clf, rows = topktree.load(trained), make_people(60, seed=3)
    X = rows.drop(columns="income")
    assert list(frame.columns) == [*rows.columns, "guess", "proba_high", "proba_low", "rule"]
    np.testing.assert_allclose(frame[["proba_high", "proba_low"]].astype(float), clf.predict_proba(X))
    rules = [line.split(" -> ") for line in clf.export_rules().splitlines()]
    for guess, rule in zip(frame["guess"], frame["rule"], strict=True):
        (end,) = [end for start, end in rules if start == rule]
        assert end.startswith(f"{guess} (")
    kept = result.stdout.splitlines()
    for line, before in zip(kept, new.read_text().splitlines(), strict=True):
        assert line.startswith(f"{before},")  # 007, empty values and all


def test_kept_columns_without_a_name(trained, tmp_path):
    path = tmp_path / "index.csv"
    make_people(5, seed=3).to_csv(path)
    lines = run("predict", trained, path, "--keep").stdout.splitlines()
    assert lines[0] == f"{path.read_text().splitlines()[0]},prediction"


def test_pipes(trained, new):
    raw = new.read_bytes()
    frame = make_people(60, seed=3)
    parquet, feather = io.BytesIO(), io.BytesIO()
    frame.to_parquet(parquet)
    frame.to_feather(feather)
    text = run("predict", trained, new).stdout
    for content in (raw, gzip.compress(raw), parquet.getvalue(), feather.getvalue()):
        assert run("predict", trained, "-", "-o", "-", input=content).stdout == text


def test_files_that_look_unlike_the_training_data(trained, tmp_path):
    rows = make_people(60, seed=3)
    path = tmp_path / "new.csv"
    for changed in (
        rows.assign(zone="7"),  # only what looks like numbers
        rows.assign(height=np.nan),  # empty
        rows.assign(urban=np.nan, job=np.nan, age=np.nan),
        rows.assign(urban=True),
        rows.assign(extra="x")[["income", "zone", "extra", "count", "urban", "height", "job", "age"]],
    ):
        changed.to_csv(path, index=False)
        frame = read(run("predict", trained, path).stdout)
        assert list(frame["prediction"]) == list(wanted(trained, changed.astype({"zone": object})))
    words = rows.assign(urban=np.where(rows["urban"], "yes", "No"))
    words.to_csv(path, index=False)
    assert list(read(run("predict", trained, path).stdout)["prediction"]) == list(wanted(trained, rows))


def test_parquet_types(trained, tmp_path):
    rows = make_people(60, seed=3)
    path = tmp_path / "new.parquet"
    rows["age"] = rows["age"].astype("Int64")
    rows["urban"] = rows["urban"].astype("boolean")
    rows["job"] = rows["job"].astype("category")
    rows.loc[3, ["age", "urban", "job"]] = pd.NA
    rows.to_parquet(path)
    frame = read(run("predict", trained, path).stdout)
    assert list(frame["prediction"]) == list(wanted(trained, rows))


def test_categories_that_are_numbers(tmp_path):
    X = pd.DataFrame({"code": [7, 8, 9, 10] * 10})
    model, path = tmp_path / "model.json", tmp_path / "new.csv"
    clf = TopKTreeClassifier(categorical_features=["code"], k="all", max_depth=3)
    clf.fit(X, X["code"] % 2 == 0).save(model)
    path.write_text("code\n7\n8.0\n9\nten\n\n10\n")
    result = run("predict", model, path)
    assert list(read(result.stdout)["prediction"])[:3] == [False, True, False]
    assert result.stderr == f"Warning: {path}: code has a value in 1 row that training did not have\n"


@pytest.mark.parametrize("options", [[], ["--proba", "--rule"]])
def test_values_that_training_did_not_have(trained, new, options):
    rows = pd.read_csv(new, dtype={"zone": str})
    rows.loc[:4, "job"] = "pilot"
    rows.loc[3:5, "age"] = np.nan
    rows.loc[6, "job"] = np.nan
    rows.loc[7, "height"] = np.nan  # as in training
    rows.to_csv(new, index=False)
    result = run("predict", trained, new, *options)
    with pytest.warns(UserWarning, match="^age is") as caught:
        labels = wanted(trained, rows)
    (warning,) = caught
    assert str(warning.message).splitlines() == [
        "age is missing in 3 rows; training had no missing values",
        "job is missing in 1 row; training had no missing values. It has a value in 5 rows that training did not have",
    ]
    said = [f"Warning: {new}: {line}" for line in str(warning.message).splitlines()]
    assert result.stderr.splitlines() == said  # the same lines, and each once
    assert list(read(result.stdout)["prediction"]) == list(labels)


def test_rules_say_what_new_values_are_treated_as(small, new):
    rows = pd.DataFrame({"age": [30, 60, None, None], "job": ["pilot", "pilot", "nurse", None]})
    rows.to_csv(new, index=False)
    expected = [
        "age <= 45 -> low (92.0% of 100 rows; high 8, low 92)",
        "age > 45 and job = farmer -> low (78.9% of 38 rows; high 8, low 30)",
        "age > 45 and job != farmer -> high (94.1% of 102 rows; high 96, low 6)",
    ]
    assert topktree.load(small).export_rules().splitlines() == expected
    frame = read(run("predict", small, new, "--rule").stdout)
    assert frame["rule"].tolist() == [
        "age <= 45",
        "age > 45 and job is not among the training values (treated as != farmer)",
        "age is missing (treated as > 45) and job != farmer",
        "age is missing (treated as > 45) and job is missing (treated as != farmer)",
    ]
    assert frame["prediction"].tolist() == ["low", "high", "high", "high"]


def test_only_the_columns_that_the_tree_uses_are_needed(small, new):
    rows = make_people(60, seed=3)
    expected = list(wanted(small, rows))
    for frame in (
        rows[["job", "age"]],
        rows[["age", "job"]].assign(urban="perhaps", height="tall", zone=["x", "y"] * 30),  # nobody reads these
    ):
        frame.to_csv(new, index=False)
        result = run("predict", small, new)
        assert result.stderr == ""
        assert list(read(result.stdout)["prediction"]) == expected
    rows[["age", "height"]].to_csv(new, index=False)
    assert_mistake(run("predict", small, new), f"{new} lacks the column job, which the model needs")


def test_a_model_without_names(tmp_path):
    X = np.random.default_rng(0).random((50, 3))
    clf = TopKTreeClassifier(max_depth=2).fit(X, X[:, 1] > 0.5)
    clf.save(tmp_path / "model.json")
    path = tmp_path / "new.csv"
    for names in (["a", "b", "c"], ["x0", "x1", "x2"]):
        pd.DataFrame(X, columns=names).to_csv(path, index=False)
        frame = read(run("predict", tmp_path / "model.json", path).stdout)
        assert list(frame["prediction"]) == list(clf.predict(X))
    pd.DataFrame(X[:, :2], columns=["a", "b"]).to_csv(path, index=False)
    assert clf.tree_.used_features() == [1]
    assert_mistake(run("predict", tmp_path / "model.json", path), "lacks the column x1, which the model needs")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["-o", "a.txt"], ["-o a.txt", ".csv, .csv.gz, .parquet, .pq or .feather"]),
        (["-o", "no/such/a.csv"], ["-o no/such/a.csv", "there is no folder"]),
        (["-o", "."], ["-o ."]),
        (["--keep", "--column", "age"], ["--keep", "'age' already", "--column"]),
        (["--rule", "--column", "rule"], ["--column rule"]),
    ],
)
def test_mistakes(trained, new, arguments, words):
    assert_mistake(run("predict", trained, new, *arguments), *words)


def test_models_that_will_not_do(trained, new, tmp_path):
    assert_mistake(run("predict", tmp_path / "none.json", new), "none.json cannot be read: No such file")
    assert_mistake(run("predict", new, new), "new.csv is not a model that this version can read")
    assert_mistake(run("predict", tmp_path, new), "cannot be read: Is a directory")
    assert_mistake(run("predict", "-", "-"), "cannot both be standard input")
    assert_mistake(run("predict", trained), "Missing argument 'FILE'")


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", ["is empty"]),
        (b"age,job,height,urban,zone,count\n", ["no rows"]),
        (b"age,job\n1,a\n", ["lacks the columns height, urban, zone, count, which the model needs"]),
        (b"age,age,height,urban,zone,count\n1,a,1,1,1,1\n", ["more than one column named 'age'"]),
        (
            b"age,job,height,urban,zone,count\n1,a,tall,1,1,1\n",
            ["'height'", "numbers, as in training", "'tall' in row 1"],
        ),
        (b"age,job,height,urban,zone,count\n1,a,1,2,1,1\n", ["'urban'", "booleans, as in training", "'2' in row 1"]),
        (b"PAR1 and no more", ["not a Parquet file that can be read"]),
    ],
)
def test_tables_that_will_not_do(trained, new, content, words):
    new.write_bytes(content)
    assert_mistake(run("predict", trained, new), *words)


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no such device")
def test_a_disk_that_is_full(trained, new):
    with open("/dev/full", "w") as full:
        command = [sys.executable, "-m", "topktree", "predict", str(trained), str(new)]
        result = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True)
    assert (result.returncode, result.stderr) == (2, "Error: cannot write: No space left on device\n")


def test_nobody_reads_on(trained, tmp_path):
    path = tmp_path / "long.csv"
    pd.concat([make_people(5000, seed=3)] * 10).to_csv(path, index=False)
    command = [sys.executable, "-m", "topktree", "predict", str(trained), str(path), "--rule"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout.readline() == b"prediction,rule\n"
        process.stdout.close()
        assert process.stderr.read() == b""
        assert process.wait() == 1


def test_categories_that_are_booleans(tmp_path):
    values = np.random.default_rng(0).random(60) < 0.5
    frame = pd.DataFrame({"v": pd.Categorical(values), "y": np.where(values, "p", "q")})
    frame.to_feather(tmp_path / "c.feather")
    frame.to_csv(tmp_path / "c.csv", index=False)
    run("fit", tmp_path / "c.feather", "--target", "y", "--test-size", "0", "--save", tmp_path / "m.json")
    for name in ("c.feather", "c.csv"):
        result = run("predict", tmp_path / "m.json", tmp_path / name)
        assert result.stdout.split()[1:] == frame["y"].tolist()


def test_lists_where_a_category_belongs(tmp_path):
    pd.DataFrame({"v": ["a", "b"] * 10, "y": ["p", "q"] * 10}).to_csv(tmp_path / "t.csv", index=False)
    pd.DataFrame({"v": [["a"], ["b"]]}).to_parquet(tmp_path / "t.parquet")
    run("fit", tmp_path / "t.csv", "--target", "y", "--test-size", "0", "--save", tmp_path / "m.json")
    assert_mistake(run("predict", tmp_path / "m.json", tmp_path / "t.parquet"), "'v'", "lists or the like")
