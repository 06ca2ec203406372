"""The paper, reproduced: its figures, theorems and claims, and four questions beyond it."""

from __future__ import annotations

from . import accuracy, fig3, fig6, frontier, lemma, page, running_time, theorem2, theorem3

STUDIES = (
    theorem2.STUDY,
    theorem3.STUDY,
    frontier.STUDY,
    lemma.STUDY,
    running_time.STUDY,
    accuracy.FIG4,
    accuracy.FIG2,
    accuracy.WIDER,
    accuracy.NOISE,
    accuracy.RANDOM_K,
    accuracy.CRITERIA_COMPARED,
    fig3.STUDY,
    fig6.STUDY,
)
write_pages = page.write_pages
