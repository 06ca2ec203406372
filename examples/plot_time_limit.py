"""
As much time as there is
========================

A search for the optimal tree can take milliseconds or days, and nobody knows before. With a time limit or a callback
the search goes through k = 1, 2, 4, ...: there is a good tree at once, then better ones, and at the end a proof if time
allows.
"""

# %%
# Tic-tac-toe at depth 5, at most ten seconds. The callback gets a fitted classifier for every better tree; here it
# keeps one line of each.

import matplotlib.pyplot as plt

from topktree import TopKTreeClassifier, datasets

board = datasets.load_tic_tac_toe()
clf = TopKTreeClassifier(k="all", max_depth=5, time_limit=10)
steps = []
clf.fit(board.data, board.target, callback=lambda tree: steps.append((tree.search_["k_reached"], tree.train_errors_)))
for k, errors in steps:
    print(f"k = {k:2}: {errors} errors")

# %%
# `status_` says how it ended: "optimal" if all columns were gone through, "time_limit" if not. A tree is returned
# either way.

print(clf.status_, clf.train_errors_, clf.search_["k_reached"])
clf.plot_search()
plt.show()

# %%
# A limit that is too short for everything still gives a complete tree: the greedy one at least.

hurried = TopKTreeClassifier(k="all", max_depth=6, time_limit=1e-6).fit(board.data, board.target)
print(hurried.status_, hurried.get_depth())

# %%
# A callback that raises ends the fit: here as soon as a tree is good enough. What was fitted before stays as it was.


class GoodEnough(Exception):
    """A tree that will do."""


def stop_at(errors):
    def check(tree):
        if tree.train_errors_ <= errors:
            raise GoodEnough(tree)

    return check


try:
    TopKTreeClassifier(k=16, max_depth=5).fit(board.data, board.target, callback=stop_at(75))
except GoodEnough as found:
    tree = found.args[0]
    print(tree.train_errors_, tree.status_)
