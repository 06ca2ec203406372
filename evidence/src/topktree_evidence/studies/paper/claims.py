"""The paper's claims, each with our number and a verdict, from the tables that the studies wrote.

In: the tables by name. Out: Claims. The one idea: a verdict is a rule about numbers (`accuracy_claims.py`,
`other_claims.py`), not an opinion; a claim whose table is missing says so.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from ...text import Tables
from . import accuracy_claims, other_claims
from .verdicts import NOT_RUN, Answer, NoCases


@dataclass(frozen=True)
class Claim:
    """One statement of the paper."""

    section: str  # of the page, where its pictures and tables are
    paper: str  # what the paper says
    found: str  # what we see
    verdict: str


def all_claims(found: Tables) -> list[Claim]:
    """Return every claim, in the order of the paper."""
    claims = []
    for section, paper, needs, judge in CLAIMS:
        try:
            answer = judge(found) if all(len(found.get(name, ())) for name in needs) else ("", NOT_RUN)
        except NoCases:
            answer = "", NOT_RUN
        claims.append(Claim(section, paper, *answer))
    return claims


CLAIMS: list[tuple[str, str, tuple[str, ...], Callable[[Tables], Answer]]] = [
    (
        "Lemma",
        "Top-k returns the most accurate tree of its search space (lemma).",
        ("lemma",),
        other_claims.lemma,
    ),
    (
        "Running time",
        "Top-k makes at most (2k)^h recursive calls (claim).",
        ("running-time",),
        other_claims.running_time,
    ),
    (
        "Theorem 2",
        "Top-K reaches 1 - eps at depth h, Top-k stays at 1/2 + eps below depth h + K - k (theorems 1 and 2).",
        ("theorem2",),
        other_claims.theorem2,
    ),
    (
        "Theorem 3",
        "The same gap on monotone distributions, for K between h log h and h^2 / (log h)^2 (theorem 3).",
        ("theorem3", "theorem3-frontier"),
        other_claims.theorem3,
    ),
    ("Data", "Binary features of each dataset (table).", ("fig6",), other_claims.column_counts),
    (
        "Figure 2",
        "The training accuracy of a larger k is at least as high.",
        ("fig2",),
        accuracy_claims.training_accuracy,
    ),
    ("Figure 2", "Test accuracy increases with k.", ("fig2",), accuracy_claims.rises_with_k),
    ("Figure 2", "In some cases the gain is over 5 points.", ("fig2",), accuracy_claims.five_points),
    (
        "Figure 2",
        "Top-8 and Top-16 are close to the optimal tree where it could be computed.",
        ("fig2",),
        accuracy_claims.close_to_optimal,
    ),
    (
        "Figure 2",
        "On taiwanese-bankruptcy, credit-card and electrical-grid-stability greedy is not beaten (appendix).",
        ("fig2",),
        accuracy_claims.overfitting,
    ),
    (
        "Figure 2",
        "On these three, Top-1 overfits beyond depth 3 (appendix).",
        ("fig2",),
        accuracy_claims.greedy_overfits,
    ),
    (
        "Figure 2",
        "On the other sets of the appendix some k > 1 always beats k = 1 (splice: to depth 6).",
        ("fig2",),
        accuracy_claims.other_appendix,
    ),
    (
        "Figure 3",
        "At depth 5 the optimal solvers do not finish 300 features within 10 minutes, Top-16 does all 1407.",
        ("fig3",),
        other_claims.scales_with("features", 300),
    ),
    (
        "Figure 3",
        "At depth 5 the optimal solvers do not finish 150 samples within 10 minutes, Top-16 does all 1000.",
        ("fig3",),
        other_claims.scales_with("samples", 150),
    ),
    (
        "Figure 4",
        "Training accuracy rises with k; test accuracy reaches a plateau on car and hayes-roth and falls on "
        "tic-tac-toe.",
        ("fig4",),
        accuracy_claims.plateau,
    ),
    (
        "Figure 6",
        "k = 2 goes to depth 8 within a second in almost all cases.",
        ("fig6",),
        other_claims.depth_eight_in_a_second,
    ),
    (
        "Figure 6",
        "k = 4 and 8 fit depth 5 within 20 seconds for most datasets.",
        ("fig6",),
        other_claims.depth_five_in_twenty,
    ),
    ("Figure 6", "On occupancy-estimation deeper trees are found faster.", ("fig6",), other_claims.occupancy),
    (
        "Random-k",
        "Choosing the best candidates matters: Top-3 is generally better than Random-3, which beats Top-1 in "
        "certain cases (planned for the appendix, in the source only).",
        ("random-k",),
        accuracy_claims.random_k,
    ),
    (
        "Label noise",
        "Trees grown by Top-k may be more robust to noise (conjecture).",
        ("noise",),
        accuracy_claims.noise,
    ),
    ("Thresholds", "Ours: where numbers are cut matters more than k.", ("fig2",), accuracy_claims.thresholds_matter),
]
