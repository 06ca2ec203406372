"""The site: `make docs` turns the pages of this folder, the docstrings and the scripts of examples/ into build/docs.

In: this folder. Out: static HTML. The one idea: a page reads as well on a code host as on the site, so links are those
of files, and the few that lead out of this folder are turned into those of pages here.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import train_test_split

import topktree

if TYPE_CHECKING:
    from sphinx.application import Sphinx

project = "topktree"
author = "The topktree authors"
version = release = topktree.__version__

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "sphinx_copybutton",
    "sphinx_gallery.gen_gallery",
]
# Other pages include the last two. Of search.md Sphinx would make search.html, which it has.
exclude_patterns = ["runs", "pictures/*.py", "dask/*.md", "search.md"]
highlight_language = "none"  # of blocks that do not say
default_role = "code"  # docstrings say `k` as Markdown does

myst_enable_extensions = ["colon_fence"]
myst_heading_anchors = 4

autodoc_typehints = "none"  # the docstrings say it in words
autodoc_member_order = "bysource"
napoleon_google_docstring = False
napoleon_use_rtype = False

copybutton_exclude = ".linenos, .gp, .go"

sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "gallery",
    "filename_pattern": r"/plot_",
    "ignore_pattern": r"demo\.py",
    "within_subsection_order": "FileNameSortKey",
    "abort_on_example_error": True,
    "download_all_examples": False,
    "write_computation_times": False,
    "show_memory": False,
    "show_signature": False,
    "remove_config_comments": True,
    "image_scrapers": ("matplotlib",),
}

html_theme = "furo"
html_title = f"topktree {release}"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_show_sourcelink = False
html_show_copyright = False
html_copy_source = False

# What is written for a code host, and what the site has in its place.
LINKS = {
    r"\]\((?:\.\./)+ARCHITECTURE\.md": "](architecture.md",
    r"\]\((?:\.\./)+CHANGELOG\.md": "](changelog.md",
    r"\]\((?:\.\./)+CONTRIBUTING\.md": "](contributing.md",
    r"\]\(search\.md": "](searching.md",
    r"\]\((?:\.\./)+examples/?\)": "](gallery/index.rst)",
    r"\]\((?:\.\./)+examples/(\w+)\.py\)": r"](gallery/\1.rst)",
    r"\[paper/\]\(paper\)": "`paper/`",
}


def turn_links(app: Sphinx, name: str, source: list[str]) -> None:
    """Links out of this folder become links to pages of the site."""
    for pattern, here in LINKS.items():
        source[0] = re.sub(pattern, here, source[0])


def write_report(app: Sphinx, error: Exception | None) -> None:
    """A report to click through, which the gallery links to."""
    data = load_breast_cancer(as_frame=True)
    y = data.target.map(dict(enumerate(data.target_names)))
    X_train, X_test, y_train, y_test = train_test_split(data.data, y, test_size=0.3, random_state=0)
    cv = topktree.TopKTreeClassifierCV().fit(X_train, y_train)
    cv.report(app.outdir / "report.html", X_test, y_test, title="Breast cancer: malignant or benign?")


def setup(app: Sphinx) -> None:
    """Called by Sphinx."""
    app.connect("source-read", turn_links)
    app.connect("build-finished", write_report)
