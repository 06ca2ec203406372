"""paper.md: the paper's claims, our numbers and verdicts, with pictures and tables beside them.

In: the folder that the experiments wrote their tables to. Out: the page. The one idea: no number on it is typed by hand
that a table could say; what was not run is named.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from topktree_evidence.studies.paper import frontier as theorem3_frontier
from topktree_evidence.studies.paper import lemma, running_time, theorem2, theorem3
from topktree_evidence.studies.paper.claims import Claim, all_claims
from topktree_evidence.studies.paper.page_tables import (
    basis,
    criteria,
    data,
    greedy_gains,
    label_noise,
    larger_k,
    random_candidates,
    scaling,
    thresholds,
    training_time,
    what_was_run,
)
from topktree_evidence.studies.paper.verdicts import NOT_RUN, Tables
from topktree_evidence.text import markdown

TITLE = "The paper, reproduced"
INTRODUCTION = """\
[Blanc, Lange, Pabbaraju, Sullivan, Tan and Tiwari, *Harnessing the Power of Choices in Decision Tree Learning*, NeurIPS
2023](https://arxiv.org/abs/2310.01551) introduced Top-k. This page goes through its claims, one by one, with topktree.
It is written by `topktree reproduce` from the tables in [paper/](paper): a verdict is a rule about the numbers in them
(`topktree/experiments/claims.py`), not an opinion.

*k* is the number of candidates tried at every node, *h* the depth; k = 1 is the greedy tree, k = all the optimal tree
of its depth. *Columns* are the Boolean features that trees split on. A *cell* is one combination of dataset, k and
depth, a mean over the splits. Accuracies are in percent, *gains* in points over k = 1 on the same splits; *clearly*
means that the 95 % interval of the mean (Student's t) excludes 0. The splits of a dataset overlap, so that is a little
generous. Error bars are two standard deviations of the mean, as in the authors' plots.
"""
DIFFERENCES = """\
Pictures cannot be compared point by point, since the source of the paper has none; its claims in words can. What is
known to differ:

* **The trees are exact here.** The authors' program prunes a little too much: of 636 training errors compared, 12 of
  theirs are higher than what the paper's own Figure 1 gives, and a plain recursion confirms ours.
* **A leaf stays a leaf where no split helps.** Their trees always split down to the depth. Training errors are the
  same; leaves are fewer, and test errors can differ a little.
* **Top-1** is scikit-learn's tree in the paper, which breaks ties at random; here ties go to the first column.
* **Figure 3** has one penalty, 0.001 a leaf, for every solver, as in the authors' program; the text of the paper gives
  GOSDT 2^-depth. In the authors' program the penalty never stops a branch early, so its times are higher than need be.
* **Figure 6** has k = 12 at its line; in the authors' program that line runs k = 8.
* **Columns** follow the paper's table (about 100); the authors' published scripts make about 200 for most numerical
  sets.
* **Times** are those of another program on another machine: shapes and limits can be compared, seconds cannot.
"""

Write = Callable[[Tables], str]
Picture = tuple[str, str]  # file, text


def write_page(out: Path, found: Tables) -> Path:
    """Write paper.md from the tables, with the pictures in the folder's `paper`."""
    claims = all_claims(found)
    parts = [f"# {TITLE}", INTRODUCTION, overview(claims, found), "## What was run", what_was_run(found)]
    parts += ["## Where this differs from the paper", DIFFERENCES]
    for title, needs, pictures, write in SECTIONS:
        if all(found[name] for name in needs):
            parts += [f"## {title}", *verdicts(claims, title)]
            parts += [f"![{text}](paper/{name}.png)" for name, text in pictures if _is_drawn(out, name)]
            parts.append(write(found))
    path = out / "paper.md"
    path.write_text("\n\n".join(part.strip() for part in parts if part.strip()) + "\n", encoding="utf-8")
    return path


def _is_drawn(out: Path, name: str) -> bool:
    return (out / "paper" / f"{name}.png").is_file()


def overview(claims: Sequence[Claim], found: Tables) -> str:
    """All verdicts in a table, and what they rest on."""
    lines = []
    for claim in claims:
        anchor = claim.section.lower().replace(" ", "-")
        lines.append((claim.paper, NOT_RUN if claim.verdict == NOT_RUN else f"[{claim.verdict}](#{anchor})"))
    return "## Claims and verdicts\n\n" + basis(found) + markdown(("claim", "verdict"), lines)


def verdicts(claims: Sequence[Claim], section: str) -> list[str]:
    """What was found on each claim of a section."""
    return [
        f"**{claim.paper}** *{claim.verdict.capitalize()}*: {claim.found}."
        for claim in claims
        if claim.section == section and claim.verdict != NOT_RUN
    ]


def folded(title: str, table: str) -> str:
    """A long table, behind its title."""
    return f"<details>\n<summary>{title}</summary>\n\n{table.strip()}\n\n</details>"


def _theorem3(found: Tables) -> str:
    small = folded("Searchable sizes, exact", theorem3.table(found["theorem3"]))
    return (
        small + "\n\n" + folded("Where Majority overtakes Tribes", theorem3_frontier.table(found["theorem3-frontier"]))
    )


SECTIONS: tuple[tuple[str, tuple[str, ...], tuple[Picture, ...], Write], ...] = (
    ("Data", ("fig6",), (), data),
    (
        "Figure 2",
        ("fig2",),
        (("fig2", "Test accuracy against depth"), ("fig2-appendix", "Test accuracy against depth, further datasets")),
        greedy_gains,
    ),
    (
        "Thresholds",
        ("fig2",),
        (
            ("fig2-default", "Test accuracy against depth with topktree's own columns"),
            ("fig2-appendix-default", "The same, further datasets"),
        ),
        thresholds,
    ),
    ("Figure 3", ("fig3",), (("fig3", "Training time against features and samples"),), scaling),
    ("Figure 4", ("fig4",), (("fig4", "Training and test accuracy against k"),), lambda found: ""),
    ("Figure 6", ("fig6",), (("fig6", "Training time against depth"),), training_time),
    (
        "Theorem 2",
        ("theorem2",),
        (("theorem2", "Accuracy against depth for each k"),),
        lambda found: folded("All cells", theorem2.table(found["theorem2"])),
    ),
    (
        "Theorem 3",
        ("theorem3", "theorem3-frontier"),
        (("theorem3", "Accuracy against k"), ("theorem3-frontier", "Where Majority overtakes Tribes")),
        _theorem3,
    ),
    ("Lemma", ("lemma",), (), lambda found: folded("All search spaces", lemma.table(found["lemma"]))),
    (
        "Running time",
        ("running-time",),
        (("running-time", "Calls against the bound"),),
        lambda found: folded("All k and depths", running_time.table(found["running-time"])),
    ),
    ("Larger k", ("wider", "fig2"), (("fico", "Test accuracy against depth, FICO"),), larger_k),
    ("Label noise", ("noise",), (("noise", "Test accuracy against label noise"),), label_noise),
    ("Random-k", ("random-k",), (("random-k", "Test accuracy with random candidates"),), random_candidates),
    ("Criteria", ("criteria",), (("criteria", "Test accuracy by criterion"),), criteria),
)
