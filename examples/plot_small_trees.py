"""
What does each leaf gain?
=========================

A smaller tree is easier to read but usually less accurate on the training rows. There are three ways to a smaller tree:
a penalty per leaf in the search, the whole path of such trees from one call, and pruning with validation rows.
"""

# %%
# We fit a tree of depth 6 to one half of the tic-tac-toe data and keep the other half as test rows.

import matplotlib.pyplot as plt
import pandas as pd
from sklearn.model_selection import train_test_split

from topktree import TopKTreeClassifier, datasets

board = datasets.load_tic_tac_toe()
X, y = pd.DataFrame(board.data, columns=board.feature_names), board.target
X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.5, random_state=0, stratify=y)

full = TopKTreeClassifier(k=8, max_depth=6).fit(X_train, y_train)
print(f"{full.get_n_leaves()} leaves, {full.train_errors_} training errors")

# %%
# With `leaf_penalty="tie"`, the search returns a tree with the fewest leaves among those with the fewest errors:

tie = TopKTreeClassifier(k=8, max_depth=6, leaf_penalty="tie").fit(X_train, y_train)
print(f"{tie.get_n_leaves()} leaves, {tie.train_errors_} training errors")

# %%
# One call finds every tree that is best for some `leaf_penalty`. Each is what `fit` returns with the penalty listed.

path = TopKTreeClassifier(k=8, max_depth=6).leaf_penalty_path(X_train, y_train)
print(path)

# %%
# On the test rows, the first leaves improve the accuracy much and the last ones hardly at all.

fig, ax = plt.subplots(figsize=(7, 4), layout="constrained")
ax.plot(path.n_leaves, path.train_accuracies, marker="o", label="training rows")
ax.plot(path.n_leaves, [tree.score(X_test, y_test) for tree in path.estimators], marker="o", label="test rows")
ax.set(xlabel="leaves", ylabel="accuracy")
ax.legend()
plt.show()

# %%
# Pruning starts from a fitted tree and uses validation rows to decide which leaves to drop. We use the test rows for
# this, so they can no longer serve to estimate the accuracy of the pruned tree.

pruned = full.prune(X_test, y_test)
print(f"{full.get_n_leaves()} leaves, {pruned.get_n_leaves()} after pruning")
print(pruned.export_rules().splitlines()[0])
