# %% [markdown]
"""From scikit-learn's naive Bayes to this package: what is called what, and what stays the same number.

    alpha of MultinomialNB, BernoulliNB, CategoricalNB = l in (count + l) / (n + l C) = the mode under Dirichlet(1 + l)

There are two ways. To keep the code, change the import: `bayesnb.sklearn` has the five classes under their names, with
their parameters and attributes. To have what those classes cannot do, exact posteriors, evidence, mixed columns and
missing cells, use `nb.NaiveBayesClassifier`, or the functions below it. Every cell checks what it says against
scikit-learn itself, whose version it prints.

Source: scikit-learn's user guide, section 1.9; Manning, Raghavan and Schuetze, Introduction to information retrieval
(2008), chapter 13, for the smoothed estimates.
"""

# %%
from __future__ import annotations

import numpy as np
import sklearn
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import gammaln
from sklearn import naive_bayes
from sklearn.datasets import load_digits, load_wine
from sklearn.utils.class_weight import compute_sample_weight

import bayesnb as nb
from bayesnb import sklearn as dropin

print(f"scikit-learn {sklearn.__version__}, bayesnb {nb.__version__}")
rows, y = load_digits(return_X_y=True)
counts, codes = rows.astype(int), (rows // 6).astype(int)  # ink 0..16, and three levels of it
measured = rows + np.random.default_rng(0).normal(size=rows.shape)  # no column is constant
wines, cultivar = load_wine(return_X_y=True)
tolerance = {"rtol": 1e-9, "atol": 1e-9}

# %% [markdown]
# ## Keep the code, change the import
#
#     from sklearn.naive_bayes import MultinomialNB      # before
#     from bayesnb.sklearn import MultinomialNB          # after
#
# Each class is a subclass of scikit-learn's: `isinstance`, pipelines, grids and `partial_fit` go on as they were.

# %%
PAIRS = {
    "MultinomialNB": (counts, {"alpha": 0.5}),
    "ComplementNB": (counts, {"alpha": 0.5, "norm": True}),
    "BernoulliNB": (counts, {"alpha": 0.5, "binarize": 8.0}),
    "CategoricalNB": (codes, {"alpha": 0.5, "min_categories": 4}),
    "GaussianNB": (measured, {"var_smoothing": 0.0, "priors": np.full(10, 0.1)}),
}
for name, (X, parameters) in PAIRS.items():
    theirs = getattr(naive_bayes, name)(**parameters).fit(X, y)
    ours = getattr(dropin, name)(**parameters).fit(X, y)
    assert_array_equal(ours.predict(X), theirs.predict(X))
    assert_allclose(ours.predict_log_proba(X), theirs.predict_log_proba(X), **tolerance)
    assert_allclose(ours.predict_joint_log_proba(X), theirs.predict_joint_log_proba(X), **tolerance)
    print(f"{name}: the same predictions, and isinstance of scikit-learn's: {isinstance(ours, type(theirs))}")

# %% [markdown]
# The attributes are scikit-learn's too, `theta_` and `var_`, `feature_count_` and `feature_log_prob_` among them.
# What is different is meant to be, and stands at the end of each class's docstring. One thing that is scikit-learn's
# here is different in our own models: `var_smoothing` is a part of the largest variance of all columns. On wines, with
# proline in the hundreds and hue near one, that drowns the small columns as soon as the smoothing is not tiny. The
# estimator gives each column a prior of its own scale.

# %%
theirs = naive_bayes.GaussianNB(var_smoothing=1e-3).fit(wines, cultivar)
ours = dropin.GaussianNB(var_smoothing=1e-3).fit(wines, cultivar)
estimator = nb.NaiveBayesClassifier().fit(wines, cultivar)
assert_allclose(ours.var_, theirs.var_)
assert_allclose(ours.epsilon_, 1e-3 * wines.var(axis=0).max())
print(f"GaussianNB(var_smoothing=1e-3) on wines: {theirs.score(wines, cultivar):.3f} theirs,", end=" ")
print(f"{ours.score(wines, cultivar):.3f} ours, {estimator.score(wines, cultivar):.3f} the estimator")

# %% [markdown]
# ## The estimator: parameters
#
# | scikit-learn | `nb.NaiveBayesClassifier` |
# |---|---|
# | `GaussianNB(var_smoothing=0)` | `"normal", method="mle"` |
# | `MultinomialNB(alpha=l)` | `"multinomial", method="map", smoothing=l` |
# | `BernoulliNB(alpha=l, binarize=None)` | `"bernoulli", method="map", smoothing=l` |
# | `CategoricalNB(alpha=l)` | `"categorical", method="map", smoothing=l` |
# | `ComplementNB` | none: it has no p(x given y); keep the drop-in class |
# | `alpha=0`, `force_alpha` | `smoothing=0`, for `map` and `mle`; it needs no second flag |
# | `var_smoothing` | none: the prior of full Bayes and of the MAP does it, column by column |
# | `class_prior=p`, `priors=p` | `class_prior=p` |
# | `fit_prior=False` | `class_prior="uniform"` |
# | `binarize=t` | `X > t` |
# | `min_categories=C` | a data frame with declared categories, or the family `nb.Categorical.laplace(C, l)` |
# | one kind of column | a list of kinds, a dict by name, or `"auto"` for a data frame |
#
# The default learns on top of full Bayes, which scikit-learn does not have: it sees numbers in three ways, learns a
# power for each feature, and averages with models of dependence. `method="posterior"` is the exact posterior, with
# nothing learned and Normal numbers.

# %%
uniform = np.full(10, 0.1)
EQUAL = [
    (naive_bayes.GaussianNB(var_smoothing=0.0), nb.NaiveBayesClassifier(method="mle"), measured),
    (
        naive_bayes.MultinomialNB(alpha=0.5),
        nb.NaiveBayesClassifier("multinomial", method="map", smoothing=0.5),
        counts,
    ),
    (
        naive_bayes.BernoulliNB(alpha=2.0, fit_prior=False, binarize=8.0),
        nb.NaiveBayesClassifier("bernoulli", method="map", smoothing=2.0, class_prior="uniform"),
        counts > 8,
    ),
    (naive_bayes.CategoricalNB(), nb.NaiveBayesClassifier("categorical", method="map"), codes),
    (
        naive_bayes.CategoricalNB(alpha=0.5, min_categories=5),
        nb.NaiveBayesClassifier(nb.Categorical.laplace(5, 0.5), method="map"),
        codes,
    ),
]
for theirs, ours, X in EQUAL:
    theirs_X = rows if isinstance(theirs, naive_bayes.BernoulliNB) else X
    expected = theirs.fit(theirs_X, y).predict_log_proba(theirs_X)
    assert_allclose(ours.fit(X, y).predict_log_proba(X), expected, **tolerance)
    print(f"{theirs} predicts as {' '.join(repr(ours).split())}")

# %% [markdown]
# ## The estimator: attributes
#
# `fit_` is the fit itself. Its `params` are arrays under the names that they have in the NumPyro program; with one kind
# of column the block is named `x`.
#
# | scikit-learn | `method="map"` and `"mle"` |
# |---|---|
# | `classes_`, `class_count_` | the same names |
# | `class_prior_`, `exp(class_log_prior_)` | `fit_.params["class_probs"]` |
# | `theta_`, `var_` | `fit_.params["x_loc"]`, `fit_.params["x_variance"]` |
# | `exp(feature_log_prob_)` | `fit_.params["x_probs"]`; a site each, `x_probs_0`, ..., for unequal categories |
# | `feature_count_` | `statistics_`, which merge |
# | `n_features_in_`, `feature_names_in_` | the same names |
#
# Of the exact posterior there is `fit_.model`, a model again with the updated hyperparameters, and
# `fit_.sample(key, n)`.

# %%
theirs = naive_bayes.GaussianNB(var_smoothing=0.0).fit(wines, cultivar)
ours = nb.NaiveBayesClassifier(method="mle").fit(wines, cultivar)
assert_allclose(ours.fit_.params["x_loc"], theirs.theta_)
assert_allclose(ours.fit_.params["x_variance"], theirs.var_)
assert_allclose(ours.fit_.params["class_probs"], theirs.class_prior_)
theirs = naive_bayes.MultinomialNB(alpha=0.5).fit(counts, y)
ours = nb.NaiveBayesClassifier("multinomial", method="map", smoothing=0.5).fit(counts, y)
assert_allclose(np.log(ours.fit_.params["x_probs"]), theirs.feature_log_prob_, **tolerance)
assert_array_equal(ours.class_count_, theirs.class_count_)
print("theta_, var_, class_prior_, feature_log_prob_, class_count_: the same numbers")

# %% [markdown]
# ## Without the estimator
#
# A model is a likelihood with its prior, and `Family.laplace(l)` is the prior whose mode is scikit-learn's estimate.

# %%
fit = nb.fit_map(nb.NaiveBayes(nb.Multinomial.laplace(0.5)), counts, y)
assert_allclose(fit.predict_log_proba(counts), theirs.predict_log_proba(counts), **tolerance)

# %% [markdown]
# **Full Bayes and alpha.** For Bernoulli and Categorical columns the exact predictive under Dirichlet(l) is
# scikit-learn's estimate with `alpha=l`: there is nothing to gain by integrating. Only the class prior is smoothed too,
# (n_k + 1) / (n + K). For counts and measurements the exact predictive is another, and less sure of itself.

# %%
exact = nb.NaiveBayesClassifier("categorical", method="posterior", class_prior="uniform").fit(codes, y)
theirs = naive_bayes.CategoricalNB(alpha=1.0, class_prior=uniform).fit(codes, y)
assert_allclose(exact.predict_log_proba(codes), theirs.predict_log_proba(codes), **tolerance)
print("categorical: full Bayes is alpha=1")

# %% [markdown]
# **`predict_joint_log_proba`** is log p(y, x). Of counts scikit-learn leaves the multinomial coefficient out, and so do
# the drop-in classes. `NaiveBayesClassifier` and `log_joint` have it, since only so it is the log of a probability; it
# is the same for all classes and changes no prediction.

# %%
theirs = naive_bayes.MultinomialNB(alpha=0.5).fit(counts, y)
coefficient = gammaln(counts.sum(axis=1) + 1) - gammaln(counts + 1).sum(axis=1)
assert_allclose(ours.predict_joint_log_proba(counts), theirs.predict_joint_log_proba(counts) + coefficient[:, None])
print(f"log multinomial coefficient of the first digit: {coefficient[0]:.1f}")

# %% [markdown]
# **`class_weight="balanced"`** of other classifiers is a weight for each row. Given its class a row's features do not
# feel it, so that without smoothing all that changes is the class prior. To say that classes are equally frequent where
# the fit is used, `class_prior`, or `with_class_probs` of a fit, says it in so many words, and the counts stay counts.

# %%
few = np.r_[np.flatnonzero(cultivar < 2), np.flatnonzero(cultivar == 2)[:10]]
X, labels = wines[few], cultivar[few]
weight = compute_sample_weight("balanced", labels)
weighted = nb.NaiveBayesClassifier(method="mle").fit(X, labels, sample_weight=weight)
plain = nb.NaiveBayesClassifier(method="mle").fit(X, labels)
for equal in (
    naive_bayes.GaussianNB(var_smoothing=0.0).fit(X, labels, sample_weight=weight),
    nb.NaiveBayesClassifier(method="mle", class_prior="uniform").fit(X, labels),
    plain.fit_.with_class_probs([1 / 3] * 3),
):
    assert_allclose(weighted.predict_log_proba(X), equal.predict_log_proba(X), **tolerance)
print("balanced weights: the class prior", plain.fit_.params["class_probs"].round(3), "becomes uniform")

# %% [markdown]
# **What there is besides**: NaN is a missing cell, everywhere; `nb.save` in the place of pickle; the default against
# over-confidence; `method="nuts"`, `"empirical"` and `"averaged"`. `quick_start.py` and `mixed_frame.py` go on from
# here.
