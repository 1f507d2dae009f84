# %% [markdown]
"""A data frame of text, numbers, flags and missing cells, straight into a classifier.

    p(y = k, x) = p(k) prod_d p(x_d | k),   each column with its own likelihood; a missing cell drops its factor

No column has to be encoded, scaled or filled in. The rows are made up, in the manner of the passengers of the Titanic:
survival depends on sex, class and age, a fifth of the ages is missing, and title and fare repeat what sex, age and
class say. The numbers are the program's own; what is checked is that pandas and polars give the same answers, that a
category nobody has seen counts as missing, that tempering helps, and that what is loaded is what was saved.

polars is needed: `pip install polars`. Source: none for these numbers. Dawson, The "unusual episode" data revisited
(Journal of Statistics Education, 1995), has the real counts by class, sex and age.
"""

# %%
from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
from numpy.testing import assert_array_equal
from sklearn.model_selection import GridSearchCV, StratifiedKFold, cross_val_score

import bayesnb as nb

# %% [markdown]
# **The rows**, as columns of Python values; `None` is missing. Both kinds of frame are made from the same lists.

# %%
rng, N = np.random.default_rng(1912), 891
male, child = rng.random(N) < 0.65, rng.random(N) < 0.1
pclass = rng.choice([1, 2, 3], N, p=[0.24, 0.21, 0.55])
age = np.where(child, rng.uniform(0, 14, N), np.clip(rng.normal(45 - 5 * pclass, 12), 15, 80)).round()
relatives = rng.poisson(0.4 + child)
fare = np.exp(rng.normal(5.2 - 0.85 * pclass, 0.5)) * (1 + relatives)
log_odds = -1.2 + 2.6 * ~male - 0.9 * (pclass - 2) + 1.5 * child
y = np.where(rng.random(N) < 1 / (1 + np.exp(-log_odds)), "survived", "died")
titles = np.where(male, np.where(child, "Master", "Mr"), np.where(child | (rng.random(N) < 0.5), "Miss", "Mrs"))


def some_missing(cells: np.ndarray, share: float) -> list[Any]:
    """The cells as a list, about this share of them None."""
    return [None if gone else cell for cell, gone in zip(cells.tolist(), rng.random(N) < share, strict=True)]


columns = {
    "sex": np.where(male, "male", "female").tolist(),
    "title": titles.tolist(),
    "pclass": pclass.tolist(),
    "age": some_missing(age, 0.2),
    "relatives": relatives.tolist(),
    "log_fare": np.log(fare).tolist(),  # fares are skewed, their logarithms nearly normal
    "embarked": some_missing(rng.choice(["S", "C", "Q"], N, p=[0.72, 0.19, 0.09]), 0.01),
    "alone": (relatives == 0).tolist(),
}
frame, of_polars = pd.DataFrame(columns), pl.DataFrame(columns)
print(of_polars.head(3))

# %% [markdown]
# **By its values** each column gets a likelihood: text and whole numbers with few values are Categorical, booleans
# Bernoulli, other numbers Normal, which by default are seen in two more ways. Columns that only identify rows would be
# left out.

# %%
print(nb.infer_likelihoods(frame))
inferred = nb.NaiveBayesClassifier().fit(frame, y)
print(inferred.likelihoods_)

# %% [markdown]
# **By name**, where values do not tell: relatives are counted, and an age in whole years is a number even if few ages
# occur. The other columns still go by their values. A misspelt name, or a likelihood that does not fit, is refused.

# %%
chosen = {"age": "normal", "relatives": "poisson"}
classifier = nb.NaiveBayesClassifier(likelihoods=chosen).fit(frame, y)
print(classifier.likelihoods_)


def refusal(call: Callable[[], object]) -> str:
    """The sentence with which a call is refused."""
    try:
        call()
    except ValueError as error:
        return f"refused: {' '.join(str(error).split())}"
    raise SystemExit("this call must be refused")


print(refusal(lambda: nb.NaiveBayesClassifier(likelihoods={"clas": "categorical"}).fit(frame, y)))
print(refusal(lambda: nb.NaiveBayesClassifier(likelihoods={"title": "normal"}).fit(frame, y)))

# %% [markdown]
# **pandas and polars** (and pyarrow) give the same fit, and each predicts the rows of the other.

# %%
probabilities = classifier.predict_proba(frame)
again = nb.NaiveBayesClassifier(likelihoods=chosen).fit(of_polars, y)
assert_array_equal(again.predict_proba(of_polars), probabilities)
assert_array_equal(classifier.predict_proba(of_polars), probabilities)
print("pandas and polars: the same probabilities")

# %% [markdown]
# **New rows.** A category that the fit has not seen says nothing about the class, and counts as missing. Rows whose
# columns are not those of the fit, or hold something else, are refused.

# %%
new = frame.head(2)
unseen, unknown = (new.assign(embarked=[port, *new["embarked"][1:]]) for port in ("Belfast", None))
assert_array_equal(classifier.predict_proba(unseen), classifier.predict_proba(unknown))
print("p(died), p(survived) of a row:", classifier.predict_proba(new)[0].round(3))
print("embarked where nobody else did:", classifier.predict_proba(unseen)[0].round(3))
print(refusal(lambda: classifier.predict(new.drop(columns="sex"))))
print(refusal(lambda: classifier.predict(new.assign(age="forty"))))
print(refusal(lambda: classifier.predict(new.assign(relatives=0.5))))

# %% [markdown]
# **Over-confidence.** Title and sex tell the same thing twice, and so do fare and class; the exact posterior counts it
# twice. `temper` learns how far the features are to be believed, without held-out rows: one power for all, or one for
# each. The default, None, has done that above, and has modelled the dependence besides.

# %%
folds = StratifiedKFold(5, shuffle=True, random_state=0)
losses = {}
for temper in (False, True, "per_feature", None):
    trial = nb.NaiveBayesClassifier(likelihoods=chosen, temper=temper)
    losses[temper] = -cross_val_score(trial, frame, y, cv=folds, scoring="neg_log_loss").mean()
    print(f"temper={temper!r:15} log loss of the folds {losses[temper]:.3f}")
if max(losses[True], losses["per_feature"], losses[None]) > losses[False]:
    raise SystemExit(f"columns that repeat each other must gain by tempering, got {losses}")

# %% [markdown]
# **A grid of scikit-learn's** takes the classifier like any other.

# %%
grid = GridSearchCV(classifier, {"smoothing": [0.1, 1.0, 10.0, 100.0]}, scoring="neg_log_loss", cv=folds)
grid.fit(frame, y)
for smoothing, score in zip(grid.param_grid["smoothing"], grid.cv_results_["mean_test_score"], strict=True):
    print(f"smoothing={smoothing:<8g} log loss of the folds {-score:.3f}")

# %% [markdown]
# **A file** holds the fit with the names, categories and labels that it knows: what is loaded takes the same frames.

# %%
with tempfile.TemporaryDirectory() as folder:
    path = Path(folder) / "passengers.safetensors"
    nb.save(classifier, path)
    loaded = nb.load(path)
assert_array_equal(loaded.predict_proba(frame), probabilities)
print("loaded:", loaded, loaded.classes_)
