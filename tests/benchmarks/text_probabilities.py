"""How good the probabilities of texts are: the exact posterior and its powers, and logistic regression on tf-idf.

    BAYESNB_DATA=DATA python -m tests.benchmarks.text_probabilities [--splits N] [--out OUT.csv]

The words are those of the training rows. "one power" is what ``temper`` learned for texts before: a power for rows of
any length, on all words of the rows left out. The table is printed as Markdown, and docs/probabilities.md has that of
the last run, which takes two minutes on two busy cores.
"""

import argparse
import os
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import scipy.sparse
from scipy.optimize import minimize_scalar
from scipy.special import logsumexp
from sklearn.feature_extraction.text import CountVectorizer, TfidfTransformer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

import bayesnb as nb
from bayesnb.studies.comparison._metrics import accuracy, log_loss

SIZES, MOST_TESTED = (60, 300, 1000, 4000), 1500
MODEL = nb.NaiveBayes(nb.Multinomial())

Data = tuple[Any, np.ndarray[Any, Any]]


def messages() -> Data:
    """The SMS collection, 13 % spam, 16 words a message."""
    lines = Path(os.environ["BAYESNB_DATA"], "sms_spam.tsv").read_text(encoding="utf-8").splitlines()
    labels, texts = zip(*(line.split("\t", 1) for line in lines), strict=True)
    return CountVectorizer().fit_transform(texts), (np.array(labels) == "spam").astype(int)


def simulate(shares: list[float], length: float, spread: float, concentration: float, num_rows: int = 6000) -> Data:
    """Rows whose words come in bursts: each has word probabilities of its own, Dirichlet(concentration theta_k)."""
    rng, num_words = np.random.default_rng(1), 2000
    theta = np.exp(0.6 * rng.normal(size=(len(shares), num_words))) / np.arange(1, num_words + 1) ** 1.1
    theta /= theta.sum(axis=1, keepdims=True)
    y = rng.choice(len(shares), num_rows, p=shares)
    lengths = 1 + rng.poisson(np.exp(rng.normal(np.log(length), spread, num_rows)))
    own = np.maximum(rng.gamma(concentration * theta[y]), 1e-300)
    own /= own.sum(axis=1, keepdims=True)
    return scipy.sparse.csr_matrix(np.stack([rng.multinomial(n, p) for n, p in zip(lengths, own, strict=True)])), y


SETS: dict[str, Callable[[], Data]] = {
    "SMS, spam or not": messages,
    "simulated, 10 words, 90 % in one of 2 classes": lambda: simulate([0.9, 0.1], 9, 0.6, 30),
    "simulated, 200 words, 90 % in one of 2 classes": lambda: simulate([0.9, 0.1], 200, 0.8, 30),
    "simulated, 1 to 1,000 words, 5 classes": lambda: simulate([0.2] * 5, 33, 1.3, 60),
}


def one_power(fit: nb.Posterior, X: Any, y: Any) -> nb.Posterior:
    """One power for rows of any length, that of the rows left out with all their words."""
    equal = np.full(len(fit.statistics.class_counts), 1.0 / len(fit.statistics.class_counts))
    evidence = nb.leave_one_out(nb.NaiveBayes(nb.Multinomial(), class_probs=equal), X, y)
    prior = np.log(np.asarray(fit.model.class_concentration) - np.eye(len(equal))[y])
    own = np.arange(len(y))

    def objective(log_t: float) -> float:
        joint = prior + np.exp(log_t) * evidence
        return float((logsumexp(joint, axis=1) - joint[own, y]).sum() + 0.5 * log_t**2)

    return fit.with_powers(np.exp(minimize_scalar(objective, bounds=(-12.0, 0.0)).x))


def methods(X: Any, y: Any) -> Iterator[tuple[str, Any]]:
    """Fits to the same rows."""
    fit = nb.fit_posterior(MODEL, X, y)
    yield "posterior", fit
    yield "one power", one_power(fit, X, y)
    yield "powers of lengths and the prior", nb.temper(fit, X, y)
    yield "logistic regression", make_pipeline(TfidfTransformer(), LogisticRegression(max_iter=1000)).fit(X, y)


def measure(name: str, splits: int) -> Iterator[dict[str, Any]]:
    """A row for each number of training rows, split and method."""
    X, y = SETS[name]()
    for size in SIZES:
        for split in range(splits):
            order = np.random.default_rng([split, size]).permutation(len(y))
            train, test = order[:size], order[size : size + MOST_TESTED]
            seen = np.asarray(X[train].sum(axis=0)).ravel() > 0
            for method, fit in methods(X[train][:, seen], y[train]):
                log_proba = np.asarray(fit.predict_log_proba(X[test][:, seen]), float)
                scores = {"accuracy": accuracy(log_proba, y[test]), "log loss": log_loss(log_proba, y[test])}
                yield {"set": name, "rows": size, "split": split, "method": method, **scores}


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks.text_probabilities", description=__doc__)
    parser.add_argument("--splits", type=int, default=5, help="splits of each set at each number of rows")
    parser.add_argument("--out", type=Path, metavar="OUT.csv", help="a file for the runs")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    sets = [name for name in SETS if name != "SMS, spam or not" or "BAYESNB_DATA" in os.environ]
    runs = pd.DataFrame([row for name in sets for row in measure(name, options.splits)])
    if options.out:
        runs.to_csv(options.out, index=False)
    means = runs.groupby(["set", "rows", "method"], sort=False)[["accuracy", "log loss"]].mean()
    cells = means.apply(lambda row: f"{row['accuracy']:.3f}, {row['log loss']:.3f}".replace("0.", "."), axis=1)
    names = runs["method"].unique()
    print("\n".join([f"| set | rows | {' | '.join(names)} |", f"| --- | ---: |{' ---: |' * len(names)}"]))
    for (name, rows), own in cells.groupby(level=["set", "rows"], sort=False):
        print(f"| {name} | {rows:,} | {' | '.join(own)} |")


if __name__ == "__main__":
    main()
