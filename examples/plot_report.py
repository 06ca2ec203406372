"""
Reports for auditors, users and operators
=========================================

A tree that decides about people must be shown to people: to those who audit it, to those affected by its decisions, and
to those who run it. Each takes one call.
"""

# %%
# We fit a tree to the iris data and hold out test rows.

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
# For auditors
# ------------
# The report is one self-contained HTML file: an interactive diagram of the tree, a form to follow a row to its leaf,
# the rules, the results on the test rows, and the parameters and alternatives of the search. `exact_root=True` makes
# the search compute the cost of the best tree for every candidate at the root, which the report lists.

temporary = tempfile.TemporaryDirectory()
folder = Path(temporary.name)
clf.report(folder / "report.html", X_test, y_test, title="Iris: which species?")
print([(file.name, f"{file.stat().st_size // 1024} KiB") for file in folder.iterdir()])

# %%
# .. raw:: html
#
#    <p>See an example of a report, for a tree chosen by cross-validation: <a href="../report.html">report.html</a>.</p>
#
# For those affected by a decision
# --------------------------------
# Each leaf is one rule that can be read aloud.

print(clf.export_rules())

# %%
# The same tree as a picture:

clf.plot()
plt.show()

# %%
# For operators
# -------------
# A database can apply the tree itself. NULL is treated as a missing value.

print(clf.export_sql("flowers"))

# %%
# For the archive, save the tree as a JSON file. `topktree.load` reads it, and loading never runs code.

clf.save(folder / "iris.json")
print((folder / "iris.json").read_text()[:90])
temporary.cleanup()
