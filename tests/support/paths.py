"""Where files outside of the package are; tests that need a folder which is not there are skipped."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SHARED = ROOT.parent / "shared"
DATASETS = Path(os.environ.get("TOPKTREE_DATA") or SHARED / "datasets")
REFERENCE = Path(os.environ.get("TOPKTREE_REFERENCE") or SHARED / "reference")

needs_datasets = pytest.mark.skipif(not DATASETS.is_dir(), reason="needs the paper's datasets: set TOPKTREE_DATA")
