"""
Searching with a time limit
===========================

A search for the optimal tree can take milliseconds or days, and it is hard to predict how long. With a time limit or a
callback, the search runs with k = 1, 2, 4, and so on. It has a good tree at once, then finds better ones, and proves
that the last one is optimal if there is enough time.
"""

# %%
# We search for a tree of depth 5 on the tic-tac-toe data for at most ten seconds. The callback receives a fitted
# classifier for every better tree; here it records k and the training errors.

import matplotlib.pyplot as plt

from topktree import TopKTreeClassifier, datasets

board = datasets.load_tic_tac_toe()
clf = TopKTreeClassifier(k="all", max_depth=5, time_limit=10)
steps = []
clf.fit(board.data, board.target, callback=lambda tree: steps.append((tree.search_["k_reached"], tree.train_errors_)))
for k, errors in steps:
    print(f"k = {k:2}: {errors} errors")

# %%
# `status_` says how the search ended: "optimal" if it ran to completion, and "time_limit" otherwise. There is a tree in
# both cases.

print(clf.status_, clf.train_errors_, clf.search_["k_reached"])
clf.plot_search()
plt.show()

# %%
# Even if the limit is far too short, the result is a complete tree, at least the greedy one.

hurried = TopKTreeClassifier(k="all", max_depth=6, time_limit=1e-6).fit(board.data, board.target)
print(hurried.status_, hurried.get_depth())

# %%
# An exception in the callback ends the fit, here as soon as a tree is good enough. The result of an earlier fit would
# not change.


class GoodEnough(Exception):
    """An exception that carries a tree which is good enough."""


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
