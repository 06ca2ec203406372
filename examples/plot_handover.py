"""
Export to scikit-learn, SHAP and ONNX
=====================================

`to_sklearn` returns a fitted scikit-learn object with the same predictions. Tools for scikit-learn's trees work with
it. This example needs the extra `interop`: ``pip install ".[interop]"``.
"""

# %%
# If all features are numbers without missing values, the result is a plain `DecisionTreeClassifier`.

import warnings

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import train_test_split

from topktree import TopKTreeClassifier

X, y = load_breast_cancer(as_frame=True, return_X_y=True)
X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=0)
clf = TopKTreeClassifier(k=8, max_depth=3).fit(X_train, y_train)

model = clf.to_sklearn()
print(type(model).__name__, np.array_equal(model.predict_proba(X_test), clf.predict_proba(X_test)))

# %%
# SHAP
# ----
# SHAP values say how much each feature changes the predicted probability of "benign". Here are their mean absolute
# values on the test rows.

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # other packages warn when they are imported
    import onnxruntime
    import shap
    import skl2onnx

values = shap.TreeExplainer(model)(X_test).values[:, :, 1]
used = np.flatnonzero(np.abs(values).sum(axis=0))
used = used[np.argsort(np.abs(values[:, used]).mean(axis=0))]

fig, ax = plt.subplots(figsize=(7, 3.5), layout="constrained")
ax.barh(X.columns[used], np.abs(values[:, used]).mean(axis=0))
ax.set_xlabel("mean |SHAP value|")
plt.show()

# %%
# ONNX
# ----
# An ONNX runtime needs no Python. It compares float32 numbers; thresholds tell the training values apart in float32,
# too. Only a new value that is within float32 rounding of a threshold could be predicted differently.

onnx = skl2onnx.to_onnx(model, X_train[:1].to_numpy("float32"), options={"zipmap": False})
session = onnxruntime.InferenceSession(onnx.SerializeToString(), providers=["CPUExecutionProvider"])
labels, _ = session.run(None, {session.get_inputs()[0].name: X_test.to_numpy("float32")})
print(
    f"{len(onnx.SerializeToString())} bytes; {np.sum(labels == clf.predict(X_test))} of {len(labels)} predictions equal"
)

# %%
# With categories or missing values
# ---------------------------------
# The result is a pipeline: its first step turns the table into numbers, and its last step is the tree. Pass the last
# step to other tools.

holes = X_train.mask(np.random.default_rng(0).random(X_train.shape) < 0.1)
pipeline = TopKTreeClassifier(k=8, max_depth=3).fit(holes, y_train).to_sklearn()
print([type(step).__name__ for _, step in pipeline.steps])
print(pipeline[:-1].get_feature_names_out())
