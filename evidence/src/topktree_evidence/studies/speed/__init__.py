"""Speed: topktree against its peers, in a quick and in a full profile; quick.py is `topktree bench`."""

from __future__ import annotations

from .plans import FULL, QUICK
from .report import write_pages
from .suite import make_study

__all__ = ["STUDIES", "write_pages"]

STUDIES = (make_study("speed", QUICK), make_study("speed-full", FULL))
