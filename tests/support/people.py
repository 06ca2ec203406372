"""A table for the tests of the command line, and what a user's mistake looks like."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from click.testing import CliRunner, Result

from topktree._cli.main import main


def make_people(n: int = 240, seed: int = 0) -> pd.DataFrame:
    """Numbers, texts, booleans and missing values; the class depends on two columns, a third a little, and chance."""
    random = np.random.default_rng(seed)
    age = random.integers(18, 80, n)
    job = random.choice(["clerk", "farmer", "nurse"], n)
    urban = random.random(n) < 0.5
    rich = (((age > 45) & (job != "farmer")) | (urban & (age > 70))) ^ (random.random(n) < 0.1)
    height = random.normal(170, 10, n).round(1)
    height[::17] = np.nan
    zone = random.choice(["007", "7", "010"], n)
    return pd.DataFrame(
        {
            "age": age,
            "job": job,
            "height": height,
            "urban": urban,
            "zone": zone,
            "count": random.integers(1, 4, n),
            "income": np.where(rich, "high", "low"),
        }
    )


def run(*arguments: object, **options: Any) -> Result:
    return CliRunner().invoke(main, [str(argument) for argument in arguments], prog_name="topktree", **options)


def assert_mistake(result: Result, *words: str) -> None:
    assert result.exit_code == 2, (result.output, result.exception)
    assert result.stdout == ""
    assert result.stderr.startswith("Error: ")
    assert result.stderr.count("\n") == 1, result.stderr
    for word in words:
        assert word in result.stderr
