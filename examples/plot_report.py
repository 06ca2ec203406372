"""
One page for the auditor
========================

A tree that decides about people has to be shown to people: to those who check it, to those who run it and to those it
decides about. One call each.
"""

# %%
# A tree for iris, with a test set.

import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
from sklearn.datasets import load_iris
from sklearn.model_selection import train_test_split

from topktree import TopKTreeClassifier

iris = load_iris(as_frame=True)
X, y = iris.data, iris.target.map(dict(enumerate(iris.target_names)))
X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.3, random_state=0, stratify=y)
clf = TopKTreeClassifier(k=8, max_depth=3, leaf_penalty="tie").fit(X_train, y_train, exact_root=True)

# %%
# Who checks it
# -------------
# The report is one HTML file without anything to load: the tree to click through, a form to follow a row, its rules,
# how right it is on held-out rows, what was searched and with which parameters. It opens in any browser. `exact_root`
# made the search find, for every first question that it tried, its best tree's errors: the report lists them.

temporary = tempfile.TemporaryDirectory()
folder = Path(temporary.name)
clf.report(folder / "report.html", X_test, y_test, title="Iris: which species?")
print([(file.name, f"{file.stat().st_size // 1024} KiB") for file in folder.iterdir()])

# %%
# .. raw:: html
#
#    <p>A report to click through, of a tree chosen by cross-validation: <a href="../report.html">report.html</a>.</p>
#
# Who it decides about
# --------------------
# A line per leaf, each of them a rule that can be read out.

print(clf.export_rules())

# %%
# The same as a picture.

clf.plot()
plt.show()

# %%
# Who runs it
# -----------
# The database can apply the tree itself; NULL is a missing value.

print(clf.export_sql("flowers"))

# %%
# And a file for the archive: JSON with a checksum, which `topktree.load` reads and which never runs code.

clf.save(folder / "iris.json")
print((folder / "iris.json").read_text()[:90])
temporary.cleanup()
