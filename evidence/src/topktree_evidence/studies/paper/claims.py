"""The paper's claims, judged by the tables that the studies wrote; the template says what each of them states.

In: the tables by name. Out: an answer for each claim, by the name of its judge. The one idea: a verdict is a rule about
numbers (`accuracy_claims.py`, `other_claims.py`), not an opinion; a claim whose table is missing says so.
"""

from __future__ import annotations

from collections.abc import Callable

from ...text import Tables
from . import accuracy_claims, other_claims
from .verdicts import NOT_RUN, Answer, NoCases

JUDGES: tuple[Callable[[Tables], Answer], ...] = (
    other_claims.lemma,
    other_claims.running_time,
    other_claims.theorem2,
    other_claims.theorem3,
    other_claims.column_counts,
    accuracy_claims.training_accuracy,
    accuracy_claims.rises_with_k,
    accuracy_claims.five_points,
    accuracy_claims.close_to_optimal,
    accuracy_claims.overfitting,
    accuracy_claims.greedy_overfits,
    accuracy_claims.other_appendix,
    other_claims.scales_with_features,
    other_claims.scales_with_samples,
    accuracy_claims.plateau,
    other_claims.depth_eight_in_a_second,
    other_claims.depth_five_in_twenty,
    other_claims.occupancy,
    accuracy_claims.random_k,
    accuracy_claims.noise,
    accuracy_claims.thresholds_matter,
)


def all_answers(found: Tables) -> dict[str, Answer]:
    """Return what we see and a verdict for every claim."""
    return {judge.__name__: _answer(judge, found) for judge in JUDGES}


def _answer(judge: Callable[[Tables], Answer], found: Tables) -> Answer:
    try:
        return judge(found)
    except NoCases:
        return "", NOT_RUN
