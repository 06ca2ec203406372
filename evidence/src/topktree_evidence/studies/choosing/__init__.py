"""Choosing k: what cross-validation chooses, against fixed k and against other tuned trees."""

from __future__ import annotations

from ...study import Study
from . import page, pictures, runs, summary

STUDIES = (
    Study(
        "choosing",
        runs.KEYS,
        runs.RESULTS,
        runs.tasks,
        runs.run,
        effort=runs.effort,
        is_hopeless=runs.is_hopeless,
        summarise=summary.summarise,
        summary=summary.SUMMARY,
        pictures=pictures.draw,
        drawn=(pictures.GAINS, pictures.SIZES),
        folder="choosing",
    ),
)
write_pages = page.write_pages
