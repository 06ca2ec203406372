"""
Choosing k and the depth
========================

More choices fit the training rows better, always; new rows only up to a point. Cross-validation finds that point, and
the rule of one standard error prefers the simpler tree where scores differ by chance only.
"""

# %%
# Two thousand rows of twelve numbers, four of which matter; a fifth of the labels is random. Half of the rows are set
# aside for the end.

import matplotlib.pyplot as plt
from sklearn.datasets import make_classification
from sklearn.model_selection import train_test_split

from topktree import TopKTreeClassifier, TopKTreeClassifierCV

X, y = make_classification(2000, 12, n_informative=4, n_redundant=0, n_clusters_per_class=3, flip_y=0.2, random_state=0)
X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.5, random_state=0, stratify=y)

# %%
# Training errors fall with k and with the depth. That alone chooses the largest of both.

DEPTHS = (1, 2, 3, 4, 5)

for k in (1, 4, 8):
    errors = [TopKTreeClassifier(k=k, max_depth=depth).fit(X_train, y_train).train_errors_ for depth in DEPTHS]
    print(f"k = {k:2}: {errors} training errors at depth {DEPTHS}")

# %%
# Five folds say how much of that lasts.

cv = TopKTreeClassifierCV(ks=(1, 2, 4, 8), max_depths=DEPTHS).fit(X_train, y_train)
print(cv.best_params_)
cv.plot()
plt.show()

# %%
# Everything above the dotted line is within one standard error of the best; the ring marks the candidate among these
# with the fewest leaves. `rule="best"` would take the best one.

best = TopKTreeClassifierCV(ks=(1, 2, 4, 8), max_depths=DEPTHS, rule="best").fit(X_train, y_train)
for name, chosen in (("1se", cv), ("best", best)):
    print(f"{name}: {chosen.best_params_}")
    print(f"    {chosen.get_n_leaves()} leaves, test accuracy {chosen.score(X_test, y_test):.3f}")

# %%
# What was chosen is a tree, with all that a tree offers.

print(cv.export_text())
