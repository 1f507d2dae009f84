# %% [markdown]
"""Why is this row predicted as it is? Contributions that add up to the prediction, as a table, bars and a nomogram.

    log p(k | x) - log p(j | x)  =  log p(k) / p(j)  +  sum_d w_d [ log p(x_d | k, D) - log p(x_d | j, D) ]

Naive Bayes is the classifier whose log odds are a sum over features, so each can be told by itself: Good calls the
terms weights of evidence. `nb.explain` has them for the exact predictive, with credible intervals, and for features
with weights, as `nb.temper` learns them; `nb.top_features` their means, where a class is the true one. A nomogram draws
an axis for each feature: read off every value's nats, add them up, read off the probability.

The data are the 569 breast tumours that scikit-learn carries, 30 measurements of cell nuclei each. The sources print
no numbers for them; the program prints its own. What must hold: the contributions and the class prior add up to the
log odds of `predict_proba`, and to the known sum where they are computed by hand.

Sources: Good, Weight of evidence: a brief survey (1985); Mozina, Demsar, Kattan and Zupan, Nomograms for visualization
of naive Bayesian classifier (2004).
"""

# %%
from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import jax
import matplotlib.pyplot as plt
import numpy as np
from scipy import stats
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import train_test_split

import bayesnb as nb

Array = np.ndarray[Any, Any]

SHOWN = 6

# %% A fit with honest confidence: an exact posterior, and one weight a feature


def fit_tumours(num_train: int) -> tuple[nb.Posterior, Array, Array, dict[str, Any]]:
    """The tempered posterior of some rows, the rows held out with their labels, and names."""
    data = load_breast_cancer()
    split = train_test_split(data.data, data.target, train_size=num_train, stratify=data.target, random_state=0)
    train_X, test_X, train_y, test_y = split
    post = nb.fit_posterior(nb.NaiveBayes(nb.Normal()), train_X, train_y)
    named = {"class_names": data.target_names, "feature_names": data.feature_names}
    return nb.temper(post, train_X, train_y, per_feature=True), test_X, test_y, named


# %% The row that is hardest to tell


def hardest(fit: nb.Posterior, X: Array) -> int:
    """The row whose largest probability is the smallest."""
    return int(fit.predict_proba(X).max(axis=1).argmin())


# %% What must hold


def check(fit: nb.Posterior, X: Array, explanation: nb.results.Explanation) -> None:
    """Sums are predictions, and one term is Student's t by hand.

    Raises:
        SystemExit: where they are not.
    """
    log_proba = fit.predict_log_proba(X)
    gap = np.abs(explanation.log_odds - (log_proba - log_proba[:, [0]])).max()
    if gap > 1e-9:
        raise SystemExit(f"contributions must add up to the prediction, the largest gap is {gap}")
    print(f"known answer: prior and contributions add up to the predicted log odds, to {gap:.0e} nats in {len(X)} rows")
    family: Any = fit.model.families["x"]
    scale = np.sqrt(family.rate * (family.strength + 1) / (family.shape * family.strength))
    log_density = stats.t.logpdf(X[0], 2 * family.shape, family.loc, scale)
    by_hand = (fit.powers or {})["x"] * (log_density[1] - log_density[0])
    if not np.allclose(by_hand, explanation.contributions[0, 1], rtol=1e-9):
        raise SystemExit("a contribution must be its weight times the log ratio of two t densities")
    print("known answer: each contribution is its weight times the log ratio of two densities of Student's t")


# %% All together


def main(train: int = 200, draws: int = 1000, out: Path = Path()) -> None:
    """The tables, the known answers and the picture."""
    fit, X, y, named = fit_tumours(train)
    row = hardest(fit, X)
    explanation = nb.explain(fit, X, key=jax.random.key(0), num_draws=draws, **named)
    print(explanation.table(row, SHOWN))
    print(f"\nit is {explanation.class_names[y[row]]}; the features that speak most for each class, in nats a row:\n")
    print(nb.top_features(fit, 5, **named))
    print()
    check(fit, X, explanation)
    picture = plt.figure(figsize=(13, 5), layout="constrained")
    left, right = picture.subplots(1, 2, width_ratios=[2, 3])
    nb.plots.contribution_bars(left, explanation, row, count=SHOWN)
    nb.plots.nomogram(right, fit, X, row=row, count=SHOWN, **named)
    picture.savefig(out / "explaining.png")


if __name__ == "__main__":
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--train", type=int, default=200, help="training rows (%(default)s)")
    options.add_argument("--draws", type=int, default=1000, help="draws behind the intervals (%(default)s)")
    options.add_argument("--out", type=Path, default=Path(), help="folder of the picture (%(default)s)")
    main(**vars(options.parse_known_args()[0]))  # of a notebook the arguments are not ours
