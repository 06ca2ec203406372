"""
Choosing k and the depth
========================

A larger k and a larger depth fit the training rows better, but at some point the tree overfits. Cross-validation finds
that point. The one-standard-error rule prefers the simpler tree where the scores may differ by chance.
"""

# %%
# The data has 2,000 rows and twelve numeric features, of which four are informative; 20% of the labels are random. Half
# of the rows are held out as test rows.

import matplotlib.pyplot as plt
from sklearn.datasets import make_classification
from sklearn.model_selection import train_test_split

from topktree import TopKTreeClassifier, TopKTreeClassifierCV

X, y = make_classification(2000, 12, n_informative=4, n_redundant=0, n_clusters_per_class=3, flip_y=0.2, random_state=0)
X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.5, random_state=0, stratify=y)

# %%
# The training errors fall with k and with the depth. By training errors alone we would always choose the largest
# values.

DEPTHS = (1, 2, 3, 4, 5)

for k in (1, 4, 8):
    errors = [TopKTreeClassifier(k=k, max_depth=depth).fit(X_train, y_train).train_errors_ for depth in DEPTHS]
    print(f"k = {k:2}: {errors} training errors at depth {DEPTHS}")

# %%
# Cross-validation with five folds estimates the accuracy on new rows.

cv = TopKTreeClassifierCV(ks=(1, 2, 4, 8), max_depths=DEPTHS).fit(X_train, y_train)
print(cv.best_params_)
cv.plot_scores()
plt.show()

# %%
# All combinations above the dotted line are within one standard error of the best. The ring marks the one among them
# with the fewest leaves, which is chosen. `rule="best"` chooses the combination with the highest score instead.

best = TopKTreeClassifierCV(ks=(1, 2, 4, 8), max_depths=DEPTHS, rule="best").fit(X_train, y_train)
for name, chosen in (("1se", cv), ("best", best)):
    print(f"{name}: {chosen.best_params_}")
    print(f"    {chosen.get_n_leaves()} leaves, test accuracy {chosen.score(X_test, y_test):.3f}")

# %%
# The fitted object offers everything that a fitted tree does.

print(cv.export_text())
