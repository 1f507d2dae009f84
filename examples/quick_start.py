# %% [markdown]
"""A first tour: one model, three fits, and what follows from them.

    pi ~ Dirichlet(1),   theta_kd ~ prior,   y ~ Categorical(pi),   x_d | y = k ~ likelihood(theta_kd)

The data are the 178 wines that scikit-learn carries, 13 measurements of three cultivars, of which 24 train. The
cells run in order, in a notebook or as `python examples/quick_start.py`. The source prints no numbers for them: what
is checked are identities that hold for any data.

Source: Murphy, Machine learning: a probabilistic perspective (2012), sections 3.5 and 4.6.
"""

# %%
from __future__ import annotations

import tempfile
from pathlib import Path

import jax
import numpy as np
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import load_wine
from sklearn.metrics import log_loss
from sklearn.model_selection import train_test_split

import bayesnb as nb

wine = load_wine()
X, X_test, y, y_test = train_test_split(wine.data, wine.target, train_size=24, stratify=wine.target, random_state=0)

# %% [markdown]
# **A model** is a likelihood with its conjugate prior. Rows are an array [N, D], labels are 0..K-1. It is a NumPyro
# program too: `model(X, y)` runs it. Fits never change it.

# %%
model = nb.NaiveBayes(nb.Normal())
print(model)

# %% [markdown]
# **Three fits.** The maximum of the likelihood and the mode of the posterior are parameters; the exact posterior is a
# model again, and its predictions integrate the parameters out. With few rows that is what keeps it from being too
# sure: the classes differ little, and the log loss by a factor of five.

# %%
mle = nb.fit_mle(model, X, y)
map_ = nb.fit_map(model, X, y)
post = nb.fit_posterior(model, X, y)

for name, fit in {"MLE": mle, "MAP": map_, "exact posterior": post}.items():
    loss, accuracy = log_loss(y_test, fit.predict_proba(X_test)), np.mean(fit.predict(X_test) == y_test)
    print(f"{name:16} log loss {loss:.3f}, accuracy {accuracy:.3f} on {len(y_test)} rows that were held out")

# %% [markdown]
# Parameters stand under the names that they have in the NumPyro program. Of a posterior there are draws, exact and
# independent; whatever is random takes a key.

# %%
print({site: value.shape for site, value in mle.params.items()})
draws = post.sample(jax.random.key(0), 1000)
alcohol = draws["x_loc"][:, :, 0]
print("mean alcohol of each cultivar:", alcohol.mean(axis=0).round(2), "+-", alcohol.std(axis=0).round(2))

# %% [markdown]
# **Predictions.** `log_joint` is log p(y = k, x), and everything else is a normalisation of it; `log_density` is
# log p(x), which is low for a row that is like nothing seen.

# %%
print("p(k | x) of two rows:\n", post.predict_proba(X_test[:2]).round(3))
densities, doubled = post.log_density(X_test), post.log_density(X_test[:1] * 2)
print(f"log p(x): {densities.min():.0f} or more for the wines, {doubled[0]:.0f} for twice a wine")
joint = post.log_joint(X_test)
assert_allclose(densities, np.logaddexp.reduce(joint, axis=1))
assert_array_equal(post.predict(X_test), joint.argmax(axis=1))

# %% [markdown]
# **Evidence**, log p(X, y), compares models without held-out rows: has each cultivar a variance of its own, or all of
# them one? It also tells, feature by feature, whether the feature depends on the class at all.

# %%
shared = nb.fit_posterior(nb.NaiveBayes(nb.Normal(variance="shared")), X, y)
print(f"log evidence: {post.log_evidence:.1f} with a variance for each class, {shared.log_evidence:.1f} with one")
inclusion = nb.feature_inclusion(model, X, y).probability
for column in np.argsort(inclusion)[:3]:
    print(f"p({wine.feature_names[column]} depends on the cultivar) = {inclusion[column]:.2f}")
table = post.evidence_table()
assert_allclose(table.labels + table.features["x"].sum(), post.log_evidence)

# %% [markdown]
# **Missing cells** are NaN, in training rows and in new ones. A missing cell drops its factor, which is exact: a row
# without its first cell is predicted as by a model that never had that column.

# %%
hidden = X_test.copy()
hidden[:, 0] = np.nan
without = nb.fit_posterior(model, X[:, 1:], y)
assert_allclose(post.predict_proba(hidden), without.predict_proba(X_test[:, 1:]))
print("alcohol unknown: p(k | x) of two rows:\n", post.predict_proba(hidden[:2]).round(3))

# %% [markdown]
# **Mixed features** are blocks, each with a likelihood; X is a dict of arrays by block.

# %%
blocks = {"measured": nb.Normal(), "strong": nb.Bernoulli()}
strong = (X[:, :1] > 13).astype(int)
mixed = nb.fit_posterior(nb.NaiveBayes(blocks), {"measured": X[:, 1:], "strong": strong}, y)
new = {"measured": X_test[:2, 1:], "strong": np.array([[1.0], [np.nan]])}
print("p(k | x) of two rows of blocks:\n", mixed.predict_proba(new).round(3))

# %% [markdown]
# **Files** hold any fit, as safetensors and never as pickle: what is loaded predicts the same to the bit.

# %%
with tempfile.TemporaryDirectory() as folder:
    path = Path(folder) / "wine.safetensors"
    nb.save(post, path)
    again = nb.load(path)
    print(f"{path.stat().st_size:,} bytes hold {again}")
assert_array_equal(again.predict_proba(X_test), post.predict_proba(X_test))

# %% [markdown]
# **As a scikit-learn estimator**: labels of any kind, data frames, pipelines and grids; `method` names the fit. By
# default it sees numbers by three likelihoods at once, and learns how much to trust each; `"normal"` asks for one.

# %%
classifier = nb.NaiveBayesClassifier("normal", method="posterior")
classifier.fit(X, wine.target_names[y])
print(classifier.predict(X_test[:3]), f"accuracy {classifier.score(X_test, wine.target_names[y_test]):.3f}")
assert_allclose(classifier.predict_proba(X_test), post.predict_proba(X_test))
