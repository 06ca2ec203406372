"""
What does each leaf buy?
========================

Accuracy and size pull in opposite directions. Three ways to a smaller tree: a penalty per leaf inside the search, the
whole path of such trees from one call, and pruning with rows that were set aside.
"""

# %%
# A tree of depth 6 for one half of tic-tac-toe; the other half judges.

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
# Among trees with as few errors, one with the fewest leaves costs nothing:

tie = TopKTreeClassifier(k=8, max_depth=6, leaf_penalty="tie").fit(X_train, y_train)
print(f"{tie.get_n_leaves()} leaves, {tie.train_errors_} training errors")

# %%
# Every tree that some `leaf_penalty` prefers, from one call. Each is what `fit` gives with the penalty beside it.

path = TopKTreeClassifier(k=8, max_depth=6).leaf_penalty_path(X_train, y_train)
print(path)

# %%
# Against the half that the trees have not seen: the first leaves buy much, the last ones nothing.

fig, ax = plt.subplots(figsize=(7, 4), layout="constrained")
ax.plot(path.n_leaves, path.train_accuracies, marker="o", label="training rows")
ax.plot(path.n_leaves, [tree.score(X_test, y_test) for tree in path.estimators], marker="o", label="test rows")
ax.set(xlabel="leaves", ylabel="accuracy")
ax.legend()
plt.show()

# %%
# Pruning goes the other way: it takes a tree that is there and lets rows that were set aside say which leaves to drop.
# These rows have then been used, so they no longer judge.

pruned = full.prune(X_test, y_test)
print(f"{full.get_n_leaves()} leaves, {pruned.get_n_leaves()} after pruning")
print(pruned.export_rules().splitlines()[0])
