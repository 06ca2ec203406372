"""
The greediness hierarchy, exactly
=================================

Theorem 2 of the paper: for every K there is a distribution on which Top-K finds an almost perfect tree of depth h,
while Top-k with a smaller k stays next to guessing until its trees have depth h + K - k. `topktree.hard.parity` is that
distribution, and small enough to be fitted exactly: all points, weighted by their probabilities. No sample, no chance.
"""

# %%
# The label is the parity of the first h bits with probability 1 - eps, else one of the other K - 1 bits. No bit of the
# parity says anything by itself, so every one of the others scores better: they fill the first K - 1 places.

import matplotlib.pyplot as plt
import numpy as np

from topktree import TopKTreeClassifier, hard

h, K, eps = 3, 4, 0.1
distribution = hard.parity(h, K, eps)
X, y, probability = distribution.exact()
print(f"{distribution.n_features} bits, {len(X)} labelled points, probabilities add up to {probability.sum():.3f}")

# %%
# Accuracy of Top-k for every k and depth. Weights that are whole numbers are taken without rounding.

weights = probability * distribution.denominator
depths = range(1, h + K)
accuracy = np.array(
    [
        [TopKTreeClassifier(k=k, max_depth=depth).fit(X, y, weights).score(X, y, weights) for depth in depths]
        for k in range(1, K + 1)
    ]
)
for k, row in enumerate(accuracy, start=1):
    print(f"k = {k}:", *(f"{value:.3f}" for value in row))

# %%
# Each k jumps at the depth that the theorem says, h + K - k: the larger k, the shallower the tree that suffices.

fig, ax = plt.subplots(figsize=(7, 4), layout="constrained")
for k, row in enumerate(accuracy, start=1):
    ax.plot(depths, row, marker="o", label=f"k = {k}")
    assert row[h + K - k - 1] >= 1 - eps > 0.6 > row[h + K - k - 2]
ax.axhline(1 - eps, color="grey", linewidth=0.8, linestyle=":")
ax.set(xlabel="depth", ylabel="accuracy", ylim=(0.45, 1.0), xticks=list(depths))
ax.legend()
plt.show()

# %%
# The monotone distribution of Theorem 3, Tribes with Majority, has the same interface. Its gap needs sizes that no
# search can follow (:doc:`/paper` has the frontier): at small ones every k finds the best classifier there is.

monotone = hard.tribes_majority(h=4, K=4, eps=0.1)
X, y, probability = monotone.exact()
for k in (1, 2, 4):
    clf = TopKTreeClassifier(k=k, max_depth=4).fit(X, y, probability)
    print(f"k = {k}: {clf.score(X, y, probability):.4f} of at most {monotone.bayes_accuracy:.4f}")
