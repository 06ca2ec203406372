"""
The greediness hierarchy, exactly
=================================

Theorem 2 of the paper says: for every K there is a distribution on which Top-K finds an almost perfect tree of depth h,
while a smaller k is hardly better than guessing until its trees have depth h + K - k. `topktree.hard.parity` is that
distribution. It is small enough to be fitted exactly, with all points weighted by their probabilities instead of a
sample.
"""

# %%
# The label is the parity of the first h bits with probability 1 - eps, and otherwise one of the other K - 1 bits. No
# single bit of the parity predicts the label, so all of the other bits score better and take the first K - 1 places.

import matplotlib.pyplot as plt
import numpy as np

from topktree import TopKTreeClassifier, hard

h, K, eps = 3, 4, 0.1
distribution = hard.parity(h, K, eps)
X, y, probability = distribution.exact()
print(f"{distribution.n_features} bits, {len(X)} labelled points, probabilities add up to {probability.sum():.3f}")

# %%
# We compute the accuracy of Top-k for every k and depth. Integer weights are used without rounding.

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
# The accuracy for each k jumps at the depth that the theorem states, h + K - k: a larger k needs a shallower tree.

fig, ax = plt.subplots(figsize=(7, 4), layout="constrained")
for k, row in enumerate(accuracy, start=1):
    ax.plot(depths, row, marker="o", label=f"k = {k}")
    assert row[h + K - k - 1] >= 1 - eps > 0.6 > row[h + K - k - 2]
ax.axhline(1 - eps, color="grey", linewidth=0.8, linestyle=":")
ax.set(xlabel="depth", ylabel="accuracy", ylim=(0.45, 1.0), xticks=list(depths))
ax.legend()
plt.show()

# %%
# The monotone distribution of Theorem 3, Tribes with Majority, has the same interface. Its gap only appears at sizes
# that are out of reach for a search (:doc:`/paper` shows where). At small sizes, every k finds the best possible
# classifier.

monotone = hard.tribes_majority(h=4, K=4, eps=0.1)
X, y, probability = monotone.exact()
for k in (1, 2, 4):
    clf = TopKTreeClassifier(k=k, max_depth=4).fit(X, y, probability)
    print(f"k = {k}: {clf.score(X, y, probability):.4f} of at most {monotone.bayes_accuracy:.4f}")
