"""Naive Bayes and logistic regression: one decision rule, two ways to learn it.

    x_d | y = k ~ N(mu_kd, sigma2_d)   =>   p(y = 1 | x) = 1 / (1 + exp(-(w . x + b))),
    w_d = (mu_1d - mu_0d) / sigma2_d,   b = log(pi_1 / pi_0) - sum_d (mu_1d^2 - mu_0d^2) / (2 sigma2_d)

With variances shared by the classes the log odds are affine in x, and `nb.linear_form` gives them: Naive Bayes reads w
and b off means and variances, logistic regression fits them to the labels and assumes nothing of x. Here the
assumption is true, so both have one limit. Naive Bayes needs O(log D) rows to come near it, logistic regression O(D);
where few rows are separable by a plane, its w has no finite maximum at all. The source prints curves and no numbers.
Errors are exact: the score w . x + b of a class is Normal, mean w . mu_k + b, variance sum_d w_d^2 sigma2_d.

Source: Ng and Jordan, On Discriminative vs. Generative Classifiers (2002). Weights: Mitchell, Machine Learning, the
chapter Generative and Discriminative Classifiers: Naive Bayes and Logistic Regression.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from scipy.stats import norm
from sklearn.linear_model import LogisticRegression

import bayesnb as nb

Array = np.ndarray[Any, Any]

NUM_FEATURES = 20
WEIGHTS = np.linspace(-0.6, 0.6, NUM_FEATURES)
VARIANCE = np.tile([0.5, 1.0, 1.5, 2.0], NUM_FEATURES // 4)
LOC = np.stack([-WEIGHTS, WEIGHTS]) * VARIANCE / 2
SIZES = (30, 50, 100, 200, 500, 1000, 2000, 5000, 10_000)
STYLES = {
    "Naive Bayes": {"color": "C0", "marker": "o", "linestyle": "-"},
    "logistic regression": {"color": "C1", "marker": "^", "linestyle": "--"},
}


def simulate(rng: np.random.Generator, num_rows: int) -> tuple[Array, Array]:
    """Rows of the true model, one half of each class."""
    y = np.arange(num_rows) % 2
    return rng.normal(LOC[y], np.sqrt(VARIANCE)), y


def naive_bayes(X: Array, y: Array) -> Array:
    """w and then b, [D + 1]."""
    weights, intercept = nb.linear_form(nb.fit_mle(nb.NaiveBayes(nb.Normal(variance="shared")), X, y))
    return np.append(weights[1] - weights[0], intercept[1] - intercept[0])


def logistic_regression(X: Array, y: Array) -> Array:
    """w and then b, [D + 1], with no penalty."""
    fit = LogisticRegression(C=np.inf, max_iter=10_000).fit(X, y)
    return np.append(fit.coef_[0], fit.intercept_)


def error(form: Array) -> Array:
    """The share of new rows on the wrong side, exactly; w and b along the last axis."""
    weights, intercept = form[..., :-1], form[..., -1:]
    score = weights @ LOC.T + intercept
    scale = np.sqrt((weights**2 * VARIANCE).sum(axis=-1))
    return 0.5 * (norm.cdf(score[..., 0] / scale) + norm.cdf(-score[..., 1] / scale))


def learn(repeats: int) -> dict[str, Array]:
    """w and b of both at every size and repeat, [sizes, repeats, D + 1]; both see the same rows."""
    rng = np.random.default_rng(0)
    data = [[simulate(rng, size) for _ in range(repeats)] for size in SIZES]
    methods = zip(STYLES, (naive_bayes, logistic_regression), strict=True)
    return {name: np.array([[learner(X, y) for X, y in some] for some in data]) for name, learner in methods}


def check_affine() -> float:
    """The largest difference between the log odds of a fit and the line that `linear_form` says they are."""
    X, y = simulate(np.random.default_rng(1), 200)
    log_proba = nb.fit_mle(nb.NaiveBayes(nb.Normal(variance="shared")), X, y).predict_log_proba(X)
    form = naive_bayes(X, y)
    return np.abs(log_proba[:, 1] - log_proba[:, 0] - (X @ form[:-1] + form[-1])).max()


def draw_errors(ax: Axes, forms: dict[str, Array], best: float) -> None:
    """Error against training rows; bars of two standard errors."""
    for name, values in forms.items():
        errors = error(values)
        bars = 2 * errors.std(axis=1, ddof=1) / np.sqrt(errors.shape[1])
        ax.errorbar(SIZES, errors.mean(axis=1), bars, label=name, capsize=2, markersize=5, **STYLES[name])
    ax.axhline(best, color="C7", linewidth=1, label="the true rule")
    ax.set_xscale("log")
    ax.legend(frameon=False)
    ax.set(
        title=f"{NUM_FEATURES} features, the assumption true",
        xlabel="training rows",
        ylabel="error [share of new rows]",
    )


def draw_weights(ax: Axes, forms: dict[str, Array], place: int) -> None:
    """Estimated against true weights at one size; bars of one standard deviation over repeats."""
    ax.plot(WEIGHTS, WEIGHTS, color="C7", linewidth=1, label="the truth")
    for shift, (name, values) in zip((-0.01, 0.01), forms.items(), strict=True):
        weights, style = values[place, :, :-1], {**STYLES[name], "linestyle": "none"}
        ax.errorbar(WEIGHTS + shift, weights.mean(axis=0), weights.std(axis=0), markersize=4, label=name, **style)
    ax.set(
        title=f"{SIZES[place]:,} rows",
        xlabel="true weight [nats a unit of x]",
        ylabel="learnt weight [nats a unit of x]",
    )


def main(repeats: int = 50, out: Path = Path()) -> None:
    """The table and the picture."""
    forms = learn(repeats)
    best = error(np.append(WEIGHTS, 0.0))
    print(f"log odds of Naive Bayes less its affine form: at most {check_affine():.0e}\n")
    print(f"{'':12}{'error':^30}{'error of w, root mean square':^34}")
    print(f"{'rows':>8}{'Naive Bayes':>16}{'logistic':>12}{'Naive Bayes':>22}{'logistic':>12}")
    for place, size in enumerate(SIZES):
        some = [values[place] for values in forms.values()]
        wrong = [error(form).mean() for form in some]
        far = [np.median(np.sqrt(np.mean((form[:, :-1] - WEIGHTS) ** 2, axis=1))) for form in some]
        print(f"{size:8,}{wrong[0]:16.4f}{wrong[1]:12.4f}{far[0]:22.3f}{far[1]:12.3f}")
    print(f"the true rule{best:11.4f}")
    picture = plt.figure(figsize=(12, 4), layout="constrained")
    left, middle, right = picture.subplots(1, 3)
    draw_errors(left, forms, best)
    draw_weights(middle, forms, SIZES.index(500))
    draw_weights(right, forms, len(SIZES) - 1)
    picture.savefig(out / "logistic.png")


if __name__ == "__main__":
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--repeats", type=int, default=50, help="data sets of each size (%(default)s)")
    options.add_argument("--out", type=Path, default=Path(), help="folder of the picture (%(default)s)")
    main(**vars(options.parse_args()))
