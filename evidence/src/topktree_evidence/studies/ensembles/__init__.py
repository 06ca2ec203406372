"""Top-k inside ensembles: forests and boosting of equal size, and with tuned parameters."""

from __future__ import annotations

from ...study import Study
from . import equal, page, pictures, summary, tuned

FOLDER = "ensembles"
STUDIES = (
    Study(
        "ensembles",
        equal.KEYS,
        equal.RESULTS,
        equal.tasks,
        equal.run,
        effort=equal.effort,
        is_hopeless=equal.is_hopeless,
        summarise=summary.summarise,
        summary=summary.SUMMARY,
        pictures=pictures.draw,
        drawn=(pictures.GAINS, pictures.DATASETS, pictures.TIMES),
        folder=FOLDER,
        keeps_runs=True,
    ),
    Study(
        "ensembles-tuned",
        tuned.KEYS,
        tuned.RESULTS,
        tuned.tasks,
        tuned.run,
        effort=tuned.effort,
        summarise=summary.summarise_tuned,
        summary=summary.TUNED_SUMMARY,
        pictures=pictures.draw_tuned,
        drawn=(pictures.LEAVES,),
        folder=FOLDER,
        keeps_runs=True,
    ),
)
write_pages = page.write_pages
