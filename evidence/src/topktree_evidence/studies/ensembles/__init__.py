"""Top-k inside ensembles: forests and boosting of equal size, and with tuned parameters."""

from __future__ import annotations

from functools import partial

from ...study import Study
from . import equal, page, pictures, summary, tuned

_study = partial(Study, folder="ensembles", keeps_runs=True)
STUDIES = (
    _study(
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
    ),
    _study(
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
    ),
)
write_pages = page.write_pages
