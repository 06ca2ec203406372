"""
Credit risk: categories and missing values as they are
======================================================

A lender wants to know which loans will fail, and must be able to say why one was refused. The table below is made up,
but has what such tables have: numbers, categories, incomes that nobody filled in, and few failures.
"""

# %%
# The data
# --------
# Whether a loan fails depends on the debt in relation to the income, on the length of employment and on the purpose.
# Who keeps the income to themselves fails more often.

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.metrics import balanced_accuracy_score, confusion_matrix
from sklearn.model_selection import train_test_split

from topktree import TopKTreeClassifier


def make_loans(n, seed):
    rng = np.random.default_rng(seed)
    income = rng.lognormal(10.4, 0.5, n)
    amount = rng.lognormal(9.3, 0.7, n)
    years = rng.gamma(1.5, 4.0, n)
    purpose = rng.choice(["car", "education", "furniture", "business"], n, p=[0.4, 0.15, 0.3, 0.15])
    housing = rng.choice(["own", "rent"], n, p=[0.6, 0.4])
    silent = rng.random(n) < 0.1
    risk = (
        -3.2
        + 2.2 * (amount / income > 0.45)
        + 1.0 * (years < 1.5)
        + 3.0 * (purpose == "business") * (years < 5)
        + 0.6 * (housing == "rent")
        + 1.5 * silent
    )
    fails = rng.random(n) < 1 / (1 + np.exp(-risk))
    table = pd.DataFrame(
        {
            "income": np.where(silent, np.nan, income.round(-2)),
            "amount": amount.round(-2),
            "amount / income": np.where(silent, np.nan, (amount / income).round(2)),
            "years employed": years.round(1),
            "purpose": pd.Categorical(purpose),
            "housing": pd.Categorical(housing),
        }
    )
    return table, np.where(fails, "fails", "repaid")


X, y = make_loans(6000, seed=1)
X.head()

# %%
# A loan that fails costs the lender three times what a good one brings: `class_weight` says so. A leaf has to be worth
# a fifth of a percent of the weight, or it is not grown. Nothing else has to be prepared.

X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.3, random_state=0)
print(f"{np.mean(y_train == 'fails'):.0%} of the training rows failed")

clf = TopKTreeClassifier(k=8, max_depth=3, class_weight={"fails": 3, "repaid": 1}, leaf_penalty=0.002)
clf.fit(X_train, y_train)
print(clf.export_rules())

# %%
# Shares and counts are of the weight. A missing value makes every test false but `is missing`: the loans without an
# income go with those above the threshold, which the rules say in words, "> 0.445 or missing".

clf.plot()
plt.show()

# %%
# On rows it has not seen
# -----------------------

predicted = clf.predict(X_test)
print(f"balanced accuracy {balanced_accuracy_score(y_test, predicted):.3f}")
print(pd.DataFrame(confusion_matrix(y_test, predicted), clf.classes_, [f"predicted {c}" for c in clf.classes_]))

# %%
# A purpose that the training rows did not have is no `= business`, and no other either: it goes with the rest.

applicant = pd.DataFrame(
    {
        "income": [np.nan],
        "amount": [9000.0],
        "amount / income": [np.nan],
        "years employed": [2.5],
        "purpose": ["holiday"],
        "housing": ["rent"],
    }
)
print(clf.predict(applicant), clf.predict_proba(applicant).round(2))
