# %% [markdown]
"""A model that lives: its stream drifts, gains a class, loses a customer who asked to be forgotten, and moves abroad.

A fit is a sum of statistics of rows under a prior, so each of these is an exact operation on sums:

    forgetting    log p(y_t, x_t | rows before, each with weight f^(t - s)),   f maximises the sum over t
    a new class   the statistics of its rows join those of the others
    unlearning    the statistics of the rows to forget are taken away
    moving        p(X | pi) = prod_n sum_k pi_k p(x_n | k) is maximised over pi, from rows without labels

The rows are contacts with a shop: six flags, and what the customer wanted. All are drawn here from known probabilities,
so that each answer can be checked. The sources print no numbers for them; the program prints its own.

Sources: Dawid, Statistical theory: the prequential approach (1984); Smith, A generalization of the Bayesian steady
forecasting model (1979); Saerens, Latinne and Decaestecker, Adjusting the outputs of a classifier to new a priori
probabilities (2002).
"""

# %%
from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
from numpy.testing import assert_allclose

import bayesnb as nb

# %% [markdown]
# **Two streams** of purchases and returns. In one the website changes twice, and with it what the flags say; the other
# never changes.

# %%
num_rows = 1500
num_flags = 6
changes = (num_rows // 3, 2 * num_rows // 3)
rng = np.random.default_rng(1)


def draw_stream(changes: tuple[int, ...] = ()) -> tuple[np.ndarray, np.ndarray]:
    """Flags and labels in the order of time; the flags' probabilities are drawn anew at each change."""
    y = rng.integers(0, 2, num_rows)
    eras = np.searchsorted(changes, np.arange(num_rows), side="right")
    probs = rng.uniform(0.1, 0.9, (len(changes) + 1, 2, num_flags))
    return (rng.random((num_rows, num_flags)) < probs[eras, y]).astype(int), y


streams = {"the website changes twice": draw_stream(changes), "nothing changes": draw_stream()}

# %% [markdown]
# **Forgetting.** `nb.prequential` predicts every row from those before it, and `nb.fit_forgetting` finds the factor
# under which these predictions are best. The rival is a window, which remembers the last rows alike and no others. It
# is computed by hand; a window of all rows must be `nb.prequential` without forgetting.

# %%
flags = nb.NaiveBayes(nb.Bernoulli(), num_classes=2)


def predict_by_window(X: np.ndarray, y: np.ndarray, width: int) -> np.ndarray:
    """log p(y_t, x_t | the last ``width`` rows): Laplace's rule of succession on their counts."""
    found = np.empty(len(y))
    for t in range(len(y)):
        rows, labels = X[max(t - width, 0) : t], y[max(t - width, 0) : t]
        own = rows[labels == y[t]]
        one = (1 + own.sum(axis=0)) / (2 + len(own))
        found[t] = np.log((1 + len(own)) / (2 + len(rows))) + np.log(np.where(X[t] == 1, one, 1 - one)).sum()
    return found


gains, found = {}, {}
for name, (X, y) in streams.items():
    everything = nb.prequential(flags, X, y)
    assert_allclose(everything, predict_by_window(X, y, num_rows), rtol=1e-9)
    assert_allclose(everything.sum(), nb.fit_posterior(flags, X, y).log_evidence)
    found[name] = nb.fit_forgetting(flags, X, y)
    factor = found[name].factor
    window = max((50, 100, 200, 400), key=lambda width: predict_by_window(X, y, width).sum())
    gains[name] = {
        "all rows": everything,
        f"learned factor, {factor:.3f}": nb.prequential(flags, X, y, factor),
        f"best window, {window} rows": predict_by_window(X, y, window),
    }
    print(f"{name}: log loss a row")
    for way, log_probs in gains[name].items():
        print(f"    {way:24}{-log_probs.mean():8.4f} nats")

# %% [markdown]
# **A new class.** From the second change on some customers complain. A batch may bring a class of which none before it
# had a row, and the batches, in any order, give the fit of all rows at once. So they do with the powers and the
# dependence of the default, for which up to 10,000 rows are kept. Here `method="posterior"` keeps sums alone.

# %%
names = np.array(["buy", "return", "complain"])
probs = rng.uniform(0.1, 0.9, (3, num_flags))
shares = np.array([0.7, 0.2, 0.1])
codes = np.where(np.arange(num_rows) < changes[1], rng.integers(0, 2, num_rows), rng.choice(3, num_rows, p=shares))
X, y = (rng.random((num_rows, num_flags)) < probs[codes]).astype(int), names[codes]
customers = rng.integers(0, 50, num_rows)

clf = nb.NaiveBayesClassifier("bernoulli", method="posterior")
for batch in np.array_split(np.arange(num_rows), 10):
    clf.partial_fit(X[batch], y[batch])
at_once = nb.NaiveBayesClassifier("bernoulli", method="posterior").fit(X, y)
assert_allclose(clf.predict_proba(X), at_once.predict_proba(X), rtol=1e-9)
counts = ", ".join(f"{n:.0f} {label}" for label, n in zip(clf.classes_, clf.class_count_, strict=True))
print(f"\nten batches equal one fit: {counts}")

# %% [markdown]
# **A customer who asked to be forgotten.** What remains is the fit without these rows, and rows that were never counted
# are refused.

# %%
mine = customers == 17
clf.forget(X[mine], y[mine])
never = nb.NaiveBayesClassifier("bernoulli", method="posterior").fit(X[~mine], y[~mine])
error = abs(clf.predict_proba(X) - never.predict_proba(X)).max()
print(f"{mine.sum()} rows of customer 17 are forgotten: probabilities differ from a fit without them by {error:.0e}")
try:
    clf.forget(np.ones((num_rows, num_flags), int), np.full(num_rows, "complain"))
except ValueError as refusal:
    print("refused:", refusal)

# %% [markdown]
# **Another population.** Abroad customers look alike and want other things. Their labels are unknown, and the shares of
# the classes are found from the flags alone.

# %%
abroad = np.array([0.25, 0.35, 0.4])
truth = rng.choice(3, num_rows, p=abroad)
X_abroad, y_abroad = (rng.random((num_rows, num_flags)) < probs[truth]).astype(int), names[truth]
moved = nb.estimate_class_probs(clf, X_abroad)
order = [[*names].index(label) for label in clf.classes_]
low, high = moved.interval
print(f"\n{'':10}{'here':>8}{'estimated abroad':>20}{'90 % interval':>17}{'true':>8}")
here = clf.class_count_ / clf.class_count_.sum()
for k, label in enumerate(clf.classes_):
    interval = f"{low[k]:.2f} to {high[k]:.2f}"
    print(f"{label:10}{here[k]:8.2f}{moved.class_probs[k]:20.2f}{interval:>17}{abroad[order][k]:8.2f}")
accuracies = [np.mean(fit.predict(X_abroad) == y_abroad) for fit in (clf, moved.fit)]
print("accuracy abroad: as fitted here {:.3f}, with the estimated shares {:.3f}".format(*accuracies))

# %% [markdown]
# **The picture.** Left: after each change a model that keeps all rows is wrong for long, and the learned factor gains
# hundreds of nats. Middle: where nothing changes it keeps everything, and a window loses more and more. Right: the
# shares of the classes abroad, with their intervals.
#
# ![Log evidence gained by forgetting on two streams, and class shares found abroad](images/living_model.png)

# %%
picture, axes = plt.subplots(1, 3, figsize=(14, 4), layout="constrained", width_ratios=[3, 3, 2])
for ax, (name, log_probs) in zip(axes, gains.items(), strict=False):
    nb.plots.prequential_gain(ax, log_probs, changes if name == "the website changes twice" else ())
    ax.set_title(name, fontsize=11, loc="left")
    ax.legend(frameon=False, fontsize=8)
places = np.arange(len(names))
axes[2].bar(places, here, 0.6, color="C7", alpha=0.35, label="here")
whiskers = np.abs(np.stack([low, high]) - moved.class_probs)
axes[2].errorbar(
    places, moved.class_probs, yerr=whiskers, fmt="o", color="C0", capsize=4, label="estimated abroad, 90 %"
)
axes[2].scatter(places, abroad[order], marker="x", color="C1", zorder=3, label="true abroad")
axes[2].set_xticks(places, clf.classes_)
axes[2].set(title="another population", ylabel="share of the rows")
axes[2].legend(frameon=False, fontsize=8, loc="upper center")
picture.savefig("living_model.png")
