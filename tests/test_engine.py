"""The engine against the reference, tree for tree, under every switch; and properties that need no reference."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from problems import (
    CRITERIA,
    Problem,
    assert_same_tree,
    make_problem,
    problems,
    random_classes,
    random_columns,
    solve,
    switches,
)

from topktree import _engine, _reference

many = settings(max_examples=2000, deadline=None, suppress_health_check=list(HealthCheck))
some = settings(max_examples=200, deadline=None, suppress_health_check=list(HealthCheck))


@many
@given(problems(), switches)
def test_engine_finds_the_tree_of_the_reference(problem: Problem, options: dict) -> None:
    assert_same_tree(problem.engine(**options), problem.reference())


@some
@given(problems(max_rows=200, max_columns=5, max_depth=5), switches)
def test_deeper_trees_and_more_rows(problem: Problem, options: dict) -> None:
    assert_same_tree(problem.engine(**options), problem.reference())
