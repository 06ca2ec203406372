"""Separators and decimal commas of CSV files: how they are recognised, said and overridden."""

import csv
import gzip
import io

import pandas as pd
import pytest
from support.people import assert_mistake, make_people, run

import topktree
from topktree._cli.files import read_header
from topktree._cli.table_files import TableFile


def separator(text):
    return read_header(io.StringIO(text, newline=""))[0]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("a,b\n1,2\n", ","),
        ("a;b\n1;2\n", ";"),
        ("a\tb\n1\t2\n", "\t"),
        ("a|b\n1|2\n", "|"),
        ("a;b", ";"),  # header only
        ("a\n1\n2\n", ","),  # one column
        ("a\n1;2\n3;4\n", ","),  # one column with texts
        ("a|b\n1\n2\n", ","),  # one column whose name has the character
        ("a;b\n1,5;2,5\n", ";"),
        ("Preis, EUR;Klasse;c\n1,5;x;1\n2,5;y;1\n", ";"),
        ('"a, b";"c, d"\n"1, 2";"3, 4"\n', ";"),
        ('"a;b;c",d\n"1;2;3",4\n', ","),
        ("name,tags\nx,p;q\ny,p;q;r\n", ","),
        ("a,b,c\n1,2\n1,2,3\n1\n", ","),  # short rows
        ('a;b\n"two\nlines; here";1\n', ";"),
        ('a;b\n"says ""x;y""";1\n', ";"),
        ("\n\na;b\r\n\r\n1;2\r\n", ";"),
        ("", ","),
        ('"never closed;a\n1;2\n', ","),
        ("a;b\n" + "1;2\n" * 100_000, ";"),
        ("a;b\n" + ('"' + "x, y\n" * 10_000 + '";1\n') * 20, ";"),  # the sample ends within quotes
        (
            "a;b\n" + f"{'x' * 300_000};1\n" * 5,
            ";",
        ),  # the sample ends within a value longer than the csv module's limit
        (";".join(f"c{i}" for i in range(100_000)) + "\n" + ";".join("1" * 100_000), ";"),  # a long first line
    ],
)
def test_separators(text, found):
    assert separator(text) == found


def write(frame, path, sep=",", decimal="."):
    text = frame.to_csv(index=False, sep=sep, decimal=decimal)
    path.write_bytes(gzip.compress(text.encode()) if path.suffix == ".gz" else text.encode())
    return path


LAYOUTS = [(";", ",", "separated by ';', decimal commas"), ("\t", ".", "separated by tabs"), ("|", ",", "by '|', dec")]


@pytest.mark.parametrize(("sep", "decimal", "said"), LAYOUTS)
@pytest.mark.parametrize("name", ["people.csv", "people.csv.gz"])
def test_the_same_tree_from_every_layout(tmp_path, sep, decimal, said, name):
    people, arguments = make_people(), ["--target", "income", "--type", "zone=category", "--depth", "3", "-k", "2"]
    plain, other = write(people, tmp_path / "plain.csv"), write(people, tmp_path / name, sep, decimal)
    models = tmp_path / "plain.json", tmp_path / "other.json"
    results = [run("fit", p, *arguments, "--save", m) for p, m in zip((plain, other), models, strict=True)]
    assert results[0].stderr == ""
    assert results[1].stderr.count("\n") == 1
    assert results[1].stderr.startswith(f"{other}: ")
    assert said in results[1].stderr
    first, second = (topktree.load(model) for model in models)
    assert first.export_dict() == second.export_dict()
    assert first.features_ == second.features_
    # Each model predicts the other file; --test and choose read them alike.
    wanted = run("predict", models[0], plain).stdout
    found = run("predict", models[0], other)
    assert (found.stdout, found.stderr) == (wanted, results[1].stderr)
    assert run("predict", models[1], plain).stdout == wanted
    tested = run("fit", plain, *arguments, "--test", other)
    assert tested.exit_code == 0
    assert tested.stderr == results[1].stderr
    chosen = run("choose", other, *arguments[:4], "--ks", "1", "--depths", "1", "--cv", "2")
    assert chosen.exit_code == 0
    assert chosen.stderr == results[1].stderr


def test_kept_values_are_as_they_were_written(tmp_path):
    path, model = tmp_path / "t.csv", tmp_path / "m.json"
    path.write_text("size;code;y\n1,50;007;a\n2,5;;b\n" * 10)
    assert run("fit", path, "--target", "y", "--test-size", "0", "--save", model).exit_code == 0
    lines = list(csv.reader(io.StringIO(run("predict", model, path, "--keep").stdout)))
    assert lines[:3] == [
        ["size", "code", "y", "prediction"],
        ["1,50", "007", "a", "a"],
        ["2,5", "", "b", "b"],
    ]


@pytest.mark.parametrize(
    ("text", "kinds"),
    [
        ("a;b\n1,5;x\n2;y\n", "fO"),
        ("a;b\n1;2,5\n2;x\n", "iO"),  # text, not numbers
        ("a;b\n1,234;2.5\n5,678;3.0\n", "Of"),  # points are decimal: the commas are something else
        ("a;b\n1,2,3;x\n4,5;y\n", "OO"),
        ("a;b\n3;x, y\n4;z\n", "iO"),
        ('a,b\n"1,5",x\n"2,5",y\n', "OO"),  # never guessed in a comma file
    ],
)
def test_decimal_commas_are_guessed_only_if_columns_become_numbers(tmp_path, text, kinds):
    path = tmp_path / "t.csv"
    path.write_text(text)
    assert [t.kind for t in TableFile(str(path)).read().dtypes] == list(kinds)


def test_decimal_commas_far_below(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("a;b\n" + "1;2\n" * 50_000 + "1,5;2\n")
    assert TableFile(str(path)).read()["a"].iloc[-1] == 1.5


def test_options_override_what_is_recognised(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("a:y\n1:x\n2:z\n" * 2)
    assert_mistake(run("fit", path, "--target", "y"), "--target y", "Its columns: a:y", "--sep")
    fit = ["fit", path, "--target", "y", "--test-size", "0"]
    path.write_text("a:y\n1:x\n2:z\n")
    result = run(*fit, "--sep", ":")
    assert (result.exit_code, result.stderr) == (0, "")
    path.write_text("a\ty\n1\tx\n2\tz\n")
    assert run(*fit, "--sep", "tab").stderr == ""
    path.write_text("a;y\n1,5;x\n2,5;z\n")
    assert run(*fit, "--sep", ";").stderr == f"{path}: decimal commas\n"
    assert "a <= 2" in run(*fit, "--sep", ";", "--decimal", ",").stdout
    assert 'a = "1,5"' in run(*fit, "--decimal", ".").stdout
    path.write_text('a,y\n"1,5",x\n"2,5",z\n')
    assert "a <= 2" in run(*fit, "--decimal", ",").stdout


def test_options_of_predict(tmp_path):
    path, model = tmp_path / "t.csv", tmp_path / "m.json"
    path.write_text("a,y\n1.5,x\n2.5,z\n")
    assert run("fit", path, "--target", "y", "--test-size", "0", "--save", model).exit_code == 0
    path.write_text("a:b\n1,5:1\n2,5:2\n")
    result = run("predict", model, path, "--sep", ":", "--decimal", ",", "--keep")
    assert (result.stdout, result.stderr) == ('a,b,prediction\n"1,5",1,x\n"2,5",2,z\n', "")


@pytest.mark.parametrize(
    "arguments", [["--sep", ""], ["--sep", ";;"], ["--sep", "\n"], ["--sep", '"'], ["--sep", "§"], ["--decimal", ";"]]
)
def test_mistakes(tmp_path, arguments):
    assert_mistake(run("fit", tmp_path / "t.csv", "--target", "y", *arguments), arguments[0])


def test_parquet_has_no_separators(tmp_path):
    make_people().to_parquet(tmp_path / "p.parquet")
    fit = ["fit", tmp_path / "p.parquet", "--target", "income", "--depth", "1"]
    result = run(*fit, "--sep", ";", "--decimal", ",")
    assert (result.exit_code, result.stderr) == (0, "")


def test_completion_knows_separators(tmp_path):
    path = write(make_people(5), tmp_path / "people.csv", ";")
    line = f"topktree fit {path} --target i"
    environment = {"_TOPKTREE_COMPLETE": "bash_complete", "COMP_WORDS": line, "COMP_CWORD": str(line.count(" "))}
    assert run(env=environment).stdout.split() == ["plain,income"]


def test_a_frame_of_another_layout_is_the_same(tmp_path):
    people = make_people()
    frames = [
        TableFile(str(write(people, tmp_path / "t.csv", sep, decimal))).read()
        for sep, decimal in [(",", "."), (";", ","), ("\t", ",")]
    ]
    for frame in frames[1:]:
        pd.testing.assert_frame_equal(frame, frames[0])
