"""Is an email spam? Bernoulli features from known parameters, then from counts, smoothed.

    p(spam | x) = p(spam) prod_d p(x_d | spam) / sum_k p(k) prod_d p(x_d | k)

Three emails in four are spam. Spam holds the word "money" with probability .8 and "perceptron" with .01, other email
.4 and .1. An email with both words is spam with probability 0.375, one with "perceptron" alone with 1/11 = 0.0909.

A probability that is not known is the smoothed share p(x_d = 1 | k) = (count + l) / (n + 2 l), the mode of its
posterior under Beta(1 + l, 1 + l), `nb.Bernoulli.laplace(l)`. l = 0 is the MLE: a word that no spam email held has
probability 0, and one such word outvotes all others. A large l draws every probability to 1/2 and forgets the data.
The picture shows both ends, on rows that were held out.

Source: Cornell CS 4780, Machine Learning for Intelligent Systems, the exercise on Naive Bayes.

By default the held-out rows are scikit-learn's digits, a pixel being on above half its range; with --data they are
the SMS Spam Collection (Almeida, Hidalgo and Yamakami 2011), a feature for each of the 1,000 commonest words.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator
from sklearn.datasets import load_digits
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.model_selection import train_test_split

import bayesnb as nb

WORDS = ("money", "perceptron")
STRENGTHS = [0.0, *np.logspace(-3, 4, 22)]


def exercise() -> None:
    """The two emails of the exercise."""
    params = {"class_probs": [0.75, 0.25], "x_probs": [[0.8, 0.01], [0.4, 0.1]]}
    fit = nb.PointEstimate(nb.NaiveBayes(nb.Bernoulli()), params)
    emails = np.array([[1, 1], [0, 1]])
    print(f"{'words in the email':22}{'p(x, spam)':>12}{'p(x, other)':>13}{'p(spam | x)':>13}")
    for email, joint, probs in zip(emails, np.exp(fit.log_joint(emails)), fit.predict_proba(emails), strict=True):
        held = " and ".join(word for word, here in zip(WORDS, email, strict=True) if here)
        print(f"{held:22}{joint[0]:12.4f}{joint[1]:13.4f}{probs[0]:13.4f}")


def smoothing() -> None:
    """Three spam emails, all with "money" and none with "perceptron"."""
    X, y = np.array([[1, 0], [1, 0], [1, 0]]), np.zeros(3, int)
    print(f"\nthree spam emails{'':5}{'p(money | spam)':>17}{'p(perceptron | spam)':>22}")
    for strength in (0, 1, 2, 1e4):
        model = nb.NaiveBayes(nb.Bernoulli.laplace(strength))
        probs = nb.fit_map(model, X, y).params["x_probs"][0]
        print(f"l = {strength:<18g}{probs[0]:17.4f}{probs[1]:22.4f}")


def read_messages(path: Path) -> tuple[np.ndarray, np.ndarray]:
    """Which of the 1,000 commonest words each message holds, and 1 for spam."""
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise ValueError(f"--data must name a text file, got {path} ({error}): name the SMS collection") from None
    labels, messages = zip(*(line.partition("\t")[::2] for line in lines), strict=True) if lines else ((), ())
    if set(labels) != {"ham", "spam"}:
        raise ValueError(f"every line of {path} must be ham or spam, a tab and the message: name the SMS collection")
    if min(labels.count("ham"), labels.count("spam")) < 10:
        raise ValueError(f"{path} must have 10 messages of each kind, ham and spam: name the SMS collection")
    words = CountVectorizer(binary=True, max_features=1000).fit_transform(messages)
    return words.toarray(), (np.array(labels) == "spam").astype(int)


def held_out(X: np.ndarray, y: np.ndarray, num_train: int, repeats: int) -> tuple[np.ndarray, np.ndarray]:
    """Log loss and accuracy on the rows not trained on, each [repeats, strengths]."""
    losses, accuracies = np.empty((2, repeats, len(STRENGTHS)))
    for repeat in range(repeats):
        train_X, test_X, train_y, test_y = train_test_split(X, y, train_size=num_train, stratify=y, random_state=repeat)
        # one pass over the rows; every smoothing is fitted from its counts
        counts = nb.sufficient_statistics(nb.NaiveBayes(nb.Bernoulli()), train_X, train_y)
        for column, strength in enumerate(STRENGTHS):
            fit = nb.fit_map(nb.NaiveBayes(nb.Bernoulli.laplace(strength)), statistics=counts)
            log_proba = fit.predict_log_proba(test_X)
            losses[repeat, column] = -log_proba[np.arange(len(test_y)), test_y].mean()
            accuracies[repeat, column] = (log_proba.argmax(axis=1) == test_y).mean()
    return losses, accuracies


def report(losses: np.ndarray, accuracies: np.ndarray) -> None:
    """A line for l = 0 and for each power of ten."""
    print(f"{'l':>8}{'log loss [nats]':>18}{'accuracy':>12}")
    for column in [0, *range(1, len(STRENGTHS), 3)]:
        loss, accuracy = losses[:, column].mean(), accuracies[:, column].mean()
        print(f"{STRENGTHS[column]:8g}{loss:18.3f}{accuracy:12.3f}")
    print(f"smallest log loss at l = {STRENGTHS[losses.mean(axis=0).argmin()]:.2g}")


def draw(losses: np.ndarray, accuracies: np.ndarray, subject: str) -> Figure:
    """Both measures with bars of two standard errors against l, l = 0 at the left end of a logarithmic axis."""
    picture = plt.figure(figsize=(10, 3.8), layout="constrained")
    places = np.array([STRENGTHS[1] / 5, *STRENGTHS[1:]])
    left, right = picture.subplots(1, 2)
    panels = [
        (left, losses, "held-out log loss [nats a row], log scale", "C0"),
        (right, accuracies, "held-out accuracy [share of rows]", "C1"),
    ]
    for ax, values, label, colour in panels:
        mean, deviations = values.mean(axis=0), np.where(np.isfinite(values), values, 0).std(axis=0, ddof=1)
        error = 2 * deviations / np.sqrt(len(values))
        style = {"color": colour, "marker": "o", "markersize": 4, "capsize": 2}
        ax.errorbar(places[1:], mean[1:], error[1:], **style)
        if np.isfinite(mean[0]):
            ax.errorbar(places[:1], mean[:1], error[:1], **style)
        else:
            ax.plot(places[0], 0.97, "^", color=colour, transform=ax.get_xaxis_transform())
            ax.annotate(" infinite", (places[0], 0.95), xycoords=ax.get_xaxis_transform(), fontsize=9)
        ax.set_xscale("log")
        ax.set_xticks([places[0], 1e-2, 1, 1e2, 1e4], labels=["0 (MLE)", "0.01", "1", "100", "10,000"])
        ax.set(title=subject, xlabel="smoothing l [pseudo-rows]", ylabel=label)
    left.set_yscale("log")
    left.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    left.yaxis.set_major_formatter("{x:g}")
    for ax in (left, right):
        ax.minorticks_off()
    return picture


def main(data: Path | None = None, repeats: int = 20, out: Path = Path()) -> None:
    """The tables and the picture."""
    X, y = load_digits(return_X_y=True) if data is None else read_messages(data)
    exercise()
    smoothing()
    subject, X, num_train = ("digits", X > 8, 200) if data is None else ("messages", X, min(500, len(y) // 2))
    losses, accuracies = held_out(X, y, num_train, repeats)
    print(f"\n{num_train} training {subject}, the others held out, {repeats} random splits")
    report(losses, accuracies)
    draw(losses, accuracies, f"{num_train} training {subject}").savefig(out / "spam.png")


if __name__ == "__main__":
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--data", type=Path, metavar="FILE", help="the SMS collection; without it, digits")
    options.add_argument("--repeats", type=int, default=20, help="random splits (%(default)s)")
    options.add_argument("--out", type=Path, default=Path(), help="folder of the picture (%(default)s)")
    main(**vars(options.parse_args()))
