"""What `topktree choose` says of a choice: a table, a few sentences and the tree; or JSON.

In: a fitted `TopKTreeClassifierCV` and its data. Out: text on stdout, or a dict.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import click
import numpy as np
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table
from rich.text import Text

from .._selection.classifier_cv import TopKTreeClassifierCV
from .._selection.grid import TIME_LIMIT
from .._selection.rule import ONE_SE, best_of
from .columns import Labelled
from .messages import ANY_WIDTH, make_console

CHOSEN_MARK, BEST_MARK = "*", "+"


@dataclass(frozen=True, eq=False)
class Choice:
    """A choice that was made, and from what."""

    cv: TopKTreeClassifierCV
    table: Labelled
    seconds: float

    @cached_property
    def rows(self) -> list[dict[str, Any]]:
        """A dict per candidate, as JSON has it: parameters, what the folds say of it; None where they do not."""
        results = self.cv.cv_results_
        columns = {
            "score": results["mean_test_score"],
            "se": results["se_test_score"],
            "leaves": results["mean_n_leaves"],
            "seconds": results["seconds"],
            "status": results["status"],
            "fold_scores": np.column_stack([results[f"split{i}_test_score"] for i in range(self.cv.n_splits_)]),
        }
        plain = {name: _without_nan(values.tolist()) for name, values in columns.items()}
        return [
            params | {name: values[i] for name, values in plain.items()} for i, params in enumerate(results["params"])
        ]

    @property
    def chosen(self) -> dict[str, Any]:
        """Its row."""
        return self.rows[self.cv.best_index_]

    @cached_property
    def best(self) -> dict[str, Any]:
        """The row of the highest score, by the same rules for ties as the estimator's."""
        return self.rows[best_of(self.cv.cv_results_)]

    @property
    def scoring(self) -> str:
        """The name of the score."""
        return self.cv.scorer_.name

    @property
    def is_share(self) -> bool:
        """Whether percents are what one says of the score."""
        return self.cv.scorer_.is_share

    @cached_property
    def train_accuracy(self) -> float:
        """On the rows that the tree was fitted to, by their weights."""
        return self.cv.best_estimator_.score(self.table.X, self.table.y, self.table.weights)


def as_json(choice: Choice) -> dict[str, Any]:
    """All of it, for programs; `leaves` of the tree itself, and in the rows their mean over the folds."""
    cv, chosen = choice.cv, choice.chosen
    n_rows, n_features = choice.table.X.shape
    return {
        "params": cv.best_params_,
        "score": chosen["score"],
        "se": chosen["se"],
        "leaves": cv.get_n_leaves(),
        "depth": cv.get_depth(),
        "train_accuracy": choice.train_accuracy,
        "rule": cv.rule,
        "scoring": choice.scoring,
        "folds": cv.n_splits_,
        "rows": n_rows,
        "features": n_features,
        "seconds": round(choice.seconds, 3),
        "status": cv.status_,
        "best": choice.best,
        "results": choice.rows,
    }


def print_choice(choice: Choice) -> None:
    """Tables, sentences and the tree; bold on a terminal only."""
    console = make_console()
    console.print(_heading(choice))
    for penalty in dict.fromkeys(row["leaf_penalty"] for row in choice.rows):
        for table in _tables(choice, penalty, console):
            console.print()
            console.print(table)
    console.print()
    console.print(_legend(choice))
    console.print()
    console.print(_reason(choice))
    console.print(_training(choice))
    click.echo(f"\n{choice.cv.export_text().rstrip()}")


def _heading(choice: Choice) -> str:
    unit = " in %" if choice.is_share else ""
    return f"{choice.scoring}{unit} in {choice.cv.n_splits_} folds ± standard error, and leaves"


def _tables(choice: Choice, penalty: float | str, console: Console) -> list[Table]:
    """The grid of one penalty: depths down, ks across, in as many tables as the width makes necessary."""
    rows = [row for row in choice.rows if row["leaf_penalty"] == penalty]
    ks = list(dict.fromkeys(row["k"] for row in rows))
    title = f"leaf penalty {_penalty(penalty)}" if len(rows) < len(choice.rows) else None
    wide = console.options.update(width=ANY_WIDTH)
    tables: list[Table] = []
    for n in range(len(ks), 0, -1):
        tables = [_table(choice, rows, ks[i : i + n], title) for i in range(0, len(ks), n)]
        if all(console.measure(table, options=wide).maximum <= console.width for table in tables):
            break
    return tables


def _table(choice: Choice, rows: list[dict[str, Any]], ks: list[Any], title: str | None) -> Table:
    table = Table(
        box=SIMPLE_HEAD,
        show_edge=False,
        pad_edge=False,
        padding=(0, 0, 0, 1),
        title=title,
        title_justify="left",
        title_style="",
        header_style="",
    )
    table.add_column("depth", justify="right")
    for k in ks:
        table.add_column(f"k = {k}", justify="right")
    for depth in sorted({row["max_depth"] for row in rows}):
        cells = [_cell(choice, row) for k in ks for row in rows if (row["k"], row["max_depth"]) == (k, depth)]
        table.add_row(str(depth), *cells)
    return table


def _cell(choice: Choice, row: dict[str, Any]) -> Text:
    """A mark, score and leaves."""
    if row["score"] is None:
        return Text("-" if row["status"] == TIME_LIMIT else "failed")
    mark = CHOSEN_MARK if row is choice.chosen else BEST_MARK if row is choice.best else " "
    score = f"{_number(choice, row['score'])} ±{_number(choice, row['se'])}"
    leaves = f"{row['leaves']:.0f}"
    return Text(f"{mark}{score} {leaves:>2}", style="bold" if row is choice.chosen else "")


def _legend(choice: Choice) -> str:
    marks = [f"{CHOSEN_MARK} chosen"]
    marks += [f"{BEST_MARK} best score"] if choice.best is not choice.chosen else []
    marks += ["- not finished in time"] if any(row["status"] == TIME_LIMIT for row in choice.rows) else []
    return "   ".join(marks)


def _reason(choice: Choice) -> str:
    """What was chosen, and why."""
    n_leaves = choice.cv.get_n_leaves()
    text = (
        f"Chosen: {_name(choice, choice.chosen)}, a tree of {n_leaves} {'leaf' if n_leaves == 1 else 'leaves'} with "
        f"{choice.scoring} {_score(choice, choice.chosen)} in {choice.cv.n_splits_} folds."
    )
    if choice.best is not choice.chosen:
        return (
            f"{text} The best was {_name(choice, choice.best)} with {_score(choice, choice.best)} and about "
            f"{choice.best['leaves']:.0f} leaves; rule 1se takes the simplest within one standard error of it."
        )
    if choice.cv.rule == ONE_SE:
        return f"{text} That is the best, and rule 1se found no smaller tree within one standard error of it."
    return f"{text} That is the best."


def _training(choice: Choice) -> str:
    n_rows, n_features = choice.table.X.shape
    n_wrong = choice.cv.train_errors_
    return (
        f"Training accuracy {100 * choice.train_accuracy:.1f} %: {n_wrong:,} of {n_rows:,} rows are wrong. "
        f"{n_features:,} {'feature' if n_features == 1 else 'features'}, {choice.seconds:.1f} seconds."
    )


def _name(choice: Choice, row: dict[str, Any]) -> str:
    has_penalties = len({row["leaf_penalty"] for row in choice.rows}) > 1
    penalty = f", leaf penalty {_penalty(row['leaf_penalty'])}" if has_penalties else ""
    return f"k = {row['k']}, depth {row['max_depth']}{penalty}"


def _penalty(penalty: float | str) -> str:
    return penalty if isinstance(penalty, str) else f"{penalty:g}"


def _score(choice: Choice, row: dict[str, Any]) -> str:
    unit = " %" if choice.is_share else ""
    return f"{_number(choice, row['score'])}{unit} ± {_number(choice, row['se'])}"


def _number(choice: Choice, value: float) -> str:
    return f"{100 * value:.1f}" if choice.is_share else f"{value:.3f}"


def _without_nan(value: Any) -> Any:
    """A list, or lists of lists, with None for NaN, which JSON has not."""
    if isinstance(value, list):
        return [_without_nan(entry) for entry in value]
    return None if isinstance(value, float) and math.isnan(value) else value
