"""Plots of scores: learning curves, calibration, costs of decisions, and the log evidence along a stream."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from bayesnb.compute.arrays._typing import Array, ArrayLike, LabelsLike
from bayesnb.core.results._decisions import decide
from bayesnb.inspection.sensitivity._robustness import Robustness
from bayesnb.studies.comparison._metrics import NUM_BINS, ReliabilityBins
from bayesnb.studies.plots._style import COLOURS, HATCHES, STYLES, class_colour, class_line, method_lines, shorten, tidy

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def learning_curve(
    ax: Axes, sizes: Sequence[int], curves: Mapping[str, tuple[Array, Array]], ylabel: str, log_scale: bool = False
) -> Axes:
    """Draw a metric against the training size, one line for each method, in a band of mean +- error.

    On a logarithmic scale the band is mean exp(+- error / mean), by the delta method, which stays above 0.

    Args:
        ax: The axes to draw on.
        sizes: The training sizes [S].
        curves: For each method the means [S] and their errors [S]; NaN for no band.
        ylabel: The name of the metric, with its unit.
        log_scale: Whether the metric has a logarithmic scale, if all means are positive.

    Example:
        >>> from matplotlib.figure import Figure
        >>> import bayesnb as nb
        >>> curves = {"MLE": ([0.9, 0.5], [0.1, 0.05]), "full Bayes": ([0.6, 0.4], [0.05, 0.03])}
        >>> ax = nb.plots.learning_curve(Figure().subplots(), [20, 100], curves, "log loss [nats]")
        >>> ax.get_xlabel(), ax.get_legend_handles_labels()[1]
        ('training rows', ['full Bayes', 'MLE'])
    """
    # draw the largest markers first and smaller ones on top; methods without a style come last
    methods = [name for name in STYLES if name in curves] + [name for name in curves if name not in STYLES]
    lines = method_lines(methods)
    lowest = min(np.min(mean) for mean, _ in curves.values())
    log_scale = log_scale and bool(lowest > 0)
    for method in methods:
        mean, error = (np.asarray(values, dtype=float) for values in curves[method])
        spread = np.exp(error / mean) if log_scale else error
        low, high = (mean / spread, mean * spread) if log_scale else (mean - spread, mean + spread)
        line = lines[method]
        ax.fill_between(sizes, low, high, color=line["color"], alpha=0.12, linewidth=1 if len(sizes) == 1 else 0)
        ax.plot(sizes, mean, label=method, linewidth=1.6, **line)
    ax.set_xscale("log")
    ax.set_xticks(list(sizes), labels=_size_labels(sizes))
    ax.set_xticks([], minor=True)
    ax.set_xlabel("training rows")
    ax.set_ylabel(ylabel)
    if log_scale:
        use_log_scale(ax)
    return tidy(ax)


def reliability(
    ax: Axes,
    bins: Mapping[str, Sequence[ReliabilityBins]],
    lowest: float = 0.0,
    whiskers: Iterable[str] | None = None,
) -> Axes:
    """Draw accuracy against confidence (a reliability diagram); the diagonal is perfect calibration.

    A point is a bin of the largest class probability, summed over the R splits: x is the mean confidence, y the
    fraction of correct predictions, r = sum_s c_s / sum_s n_s. Its whiskers are two standard errors of that ratio with
    splits as clusters, sqrt(R / (R - 1) sum_s (c_s - r n_s)^2) / sum_s n_s, since rows of one split are dependent. Bins
    with fewer than one row per split on average are left out, and lines are broken there.

    Args:
        ax: The axes to draw on.
        bins: For each method the counts of each split, from ``reliability_bins``.
        lowest: Where the x axis begins, such as 1 / K, below which no largest probability is.
        whiskers: The methods that have whiskers, all by default: those of many hide each other.

    Example:
        >>> from matplotlib.figure import Figure
        >>> import numpy as np, bayesnb as nb
        >>> log_proba, y = np.log([[0.9, 0.1], [0.85, 0.15], [0.2, 0.8], [0.45, 0.55]]), np.array([0, 0, 1, 0])
        >>> bins = {"MLE": [nb.plots.reliability_bins(log_proba, y)]}
        >>> ax = nb.plots.reliability(Figure().subplots(), bins, lowest=0.5)
        >>> ax.get_xlabel(), ax.get_ylabel(), float(ax.get_xlim()[0])
        ('', 'share predicted right', 0.5)
    """
    ax.plot([0, 1], [0, 1], color="0.6", linewidth=1, zorder=0)
    chosen = {*(bins if whiskers is None else whiskers)}
    for method in [name for name in STYLES if name in bins]:
        confidence, correct, error = _ratios(bins[method])
        ends = np.stack([np.minimum(2 * error, correct), np.minimum(2 * error, 1 - correct)])  # stay in [0, 1]
        line: dict[str, Any] = {"label": method, "capsize": 2, "elinewidth": 1, "linewidth": 1.4, **STYLES[method]}
        ax.errorbar(confidence, correct, yerr=ends if method in chosen else None, **line)
    ax.set_xlim(lowest, 1.02)
    ax.set_ylim(0, 1.03)
    ax.set_ylabel("share predicted right")
    return tidy(ax)


def confidence_shares(ax: Axes, bins: Mapping[str, Sequence[ReliabilityBins]]) -> Axes:
    """Draw the fraction of test rows in each bin of the largest class probability, methods side by side.

    Args:
        ax: The axes to draw on.
        bins: For each method the counts of each split, as for ``reliability``.

    Example:
        >>> from matplotlib.figure import Figure
        >>> import numpy as np, bayesnb as nb
        >>> log_proba, y = np.log([[0.9, 0.1], [0.85, 0.15], [0.2, 0.8], [0.45, 0.55]]), np.array([0, 0, 1, 0])
        >>> ax = nb.plots.confidence_shares(Figure().subplots(), {"MLE": [nb.plots.reliability_bins(log_proba, y)]})
        >>> ax.get_xlabel(), ax.get_ylabel()
        ('largest predicted probability', 'share of rows')
    """
    methods = [name for name in bins if name in STYLES]
    width = 0.8 / NUM_BINS / len(methods)
    centres = (np.arange(NUM_BINS) + 0.5) / NUM_BINS
    for position, method in enumerate(methods):
        count = np.sum([split.count for split in bins[method]], axis=0)
        offset = (position - (len(methods) - 1) / 2) * width
        style = {"color": STYLES[method]["color"], "hatch": HATCHES[method], "edgecolor": "white", "linewidth": 0}
        ax.bar(centres + offset, count / count.sum(), width, **style)
    ax.set_xlabel("largest predicted probability")
    ax.set_ylabel("share of rows")
    return tidy(ax)


def _ratios(splits: Sequence[ReliabilityBins]) -> tuple[Array, Array, Array]:
    """Mean confidence, accuracy and its standard error for each bin; NaN (a gap) if a bin has too few rows."""
    count = np.stack([split.count for split in splits])
    correct = np.stack([split.correct for split in splits])
    total = count.sum(axis=0)
    total = np.where(total >= len(splits), total, np.nan)
    ratio = correct.sum(axis=0) / total
    residual = correct - ratio * count
    spread = np.sum(residual**2, axis=0) * len(splits) / max(len(splits) - 1, 1)
    confidence = np.sum([split.confidence for split in splits], axis=0) / total
    return confidence, ratio, np.sqrt(spread) / total


def _size_labels(sizes: Sequence[int]) -> list[str]:
    """The labels of the sizes, chosen from right to left; a tick too close to its labelled neighbour has none."""
    near = 0.085 * np.log10(sizes[-1] / sizes[0])
    labels: list[str] = []
    last = np.inf
    for size in reversed(sizes):
        if last - np.log10(size) < near:
            labels.append("")
            continue
        last = np.log10(size)
        labels.append(f"{size / 1000:.3g}k" if size % 1000 == 0 or size >= 10_000 else str(size))
    return labels[::-1]


def use_log_scale(ax: Axes) -> None:
    """Use a logarithmic scale with plain numbers, and fewer labels the more decades it spans."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator

    def label(value: float, _: object) -> str:
        power = np.log10(value)
        return f"$10^{{{round(power)}}}$" if abs(power) > 3.5 and power == round(power) else f"{value:g}"

    ax.set_yscale("log")
    low, high = ax.get_ylim()
    decades = np.log10(high / low)
    steps = (1, 1.2, 1.5, 2, 3, 4, 5, 6, 8) if decades < 1 else (1, 2, 5) if decades < 2.5 else (1,)
    ax.yaxis.set_major_locator(LogLocator(subs=steps, numticks=12))
    ax.yaxis.set_major_formatter(FuncFormatter(label))
    ax.yaxis.set_minor_locator(NullLocator())


def prequential_gain(ax: Axes, log_probs: Mapping[str, ArrayLike], changes: Iterable[float] = ()) -> Axes:
    """Draw the log evidence so far of several predictions of one stream, less that of the first of them.

        gain(t) = sum over s <= t of log p(row s | rows before) - log p_first(row s | rows before)

    A line that rises predicts these rows better than the first one does, which is the line at 0; its end is the log
    Bayes factor of the whole stream. ``nb.prequential`` has these probabilities; Dawid, Statistical theory: the
    prequential approach (1984).

    Args:
        log_probs: By name, log p of each row given those before [N], such as ``nb.prequential`` at several factors.
        changes: Rows at which vertical lines say that the stream changes.

    Raises:
        ValueError: if there is none, or their lengths differ.

    Example:
        >>> from matplotlib.figure import Figure
        >>> import bayesnb as nb
        >>> model, X, y = nb.NaiveBayes(nb.Bernoulli(), num_classes=1), [[1], [1], [1], [0], [0], [0]], [0] * 6
        >>> log_probs = {f"factor {f:g}": nb.prequential(model, X, y, f) for f in (1.0, 0.5)}
        >>> ax = nb.plots.prequential_gain(Figure().subplots(), log_probs, changes=[3])
        >>> ax.get_xlabel(), ax.get_legend_handles_labels()[1]
        ('rows', ['factor 1', 'factor 0.5'])
    """
    given = {name: np.asarray(values, float) for name, values in log_probs.items()}
    if not given or len({values.shape for values in given.values()}) > 1 or next(iter(given.values())).ndim != 1:
        shapes = {name: values.shape for name, values in given.items()}
        raise ValueError(f"log_probs must be arrays of one length [N] by name, got {shapes}")
    first = next(iter(given.values()))
    rows = np.arange(1, len(first) + 1)
    for change in changes:
        ax.axvline(change, color="0.75", linewidth=1, zorder=0)
    for position, (name, values) in enumerate(given.items()):
        line = {**class_line(position), "markevery": max(len(rows) // 8, 1), "markersize": 4}
        ax.plot(rows, np.cumsum(values - first), label=shorten(str(name)), linewidth=1.6, **line)
    ax.set_xlim(0, len(rows))
    ax.set_xlabel("rows")
    ax.set_ylabel(f"log evidence less that of\n{shorten(next(iter(given)))} [nats]")
    return tidy(ax)


def cost_curve(ax: Axes, proba: ArrayLike, y: LabelsLike, *, envelope: bool = True) -> Axes:
    """Draw the expected cost of the decisions of ``nb.decide`` against what the errors cost.

    To miss class 1, whose share of the rows is p, costs w; to take class 0 for it costs 1 - w:

        x = p w / (p w + (1 - p) (1 - w)),   cost(x) = x miss rate + (1 - x) false alarm rate

    The cost is a share of the largest one, where every decision is wrong. Grey lines are the decisions that look at no
    row: always 0 costs x, always 1 costs 1 - x. Faint lines are the lowest cost of any threshold, found on these rows:
    a curve far above its own comes from probabilities that are not calibrated. Drummond and Holte, Cost curves: an
    improved method for visualizing classifier performance (2006).

    Args:
        proba: p(y = k | x) of two classes, [N, 2], or a dict of them by name, such as those of several fits.
        y: The labels [N], 0 or 1, both of which must occur.
        envelope: Draw the lowest cost of any threshold.

    Raises:
        ValueError: if there are not two classes, or probabilities and labels do not fit.

    Example:
        >>> from matplotlib.figure import Figure
        >>> import bayesnb as nb
        >>> ax = nb.plots.cost_curve(Figure().subplots(), [[0.9, 0.1], [0.6, 0.4], [0.3, 0.7]], [0, 0, 1])
        >>> ax.get_xlabel(), ax.get_ylabel()
        ('share of the costs that is for misses of class 1', 'expected cost, a share of the largest')
    """
    curves = proba if isinstance(proba, Mapping) else {"": proba}
    y = np.asarray(y)
    if y.ndim != 1 or {*np.unique(y).tolist()} != {0, 1}:
        raise ValueError(f"y must be labels [N], 0 and 1, both of which occur, got {np.unique(y).tolist()}")
    x = np.linspace(0.0, 1.0, 201)
    ax.plot(x, np.minimum(x, 1.0 - x), color="0.6", linewidth=1, zorder=0)
    for position, (name, given) in enumerate(curves.items()):
        table = np.asarray(given, float)
        if table.shape != (len(y), 2):
            raise ValueError(f"proba must be probabilities [N, 2], a row for each label, got shape {table.shape}")
        line = {**class_line(position), "marker": ""}
        ax.plot(x, _costs_of_decisions(table, y, x), label=shorten(name) or None, linewidth=1.8, **line)
        if envelope:
            ax.plot(x, _lowest(table[:, 1], y, x), color=class_colour(position), linewidth=0.8, alpha=0.6)
    ax.set_xlim(0.0, 1.0)
    ax.set_ylim(bottom=0.0)
    ax.set_xlabel("share of the costs that is for misses of class 1")
    ax.set_ylabel("expected cost, a share of the largest")
    return tidy(ax)


def robustness_curve(ax: Axes, found: Robustness, y: LabelsLike) -> Axes:
    """Draw the accuracy of the decisions that s pseudo-rows of any content leave unchanged, against s.

    Crosses are the wrong decisions, each at the number of pseudo-rows that change it, s*; the dashed line is the share
    of decisions that are left. Where wrong decisions have small s*, the line rises.

    Args:
        found: What ``nb.robustness`` returns for N rows.
        y: Their labels [N], 0 to K - 1.

    Raises:
        ValueError: if the labels are no integers or do not fit the rows, or there are none.

    Example:
        >>> from matplotlib.figure import Figure
        >>> import bayesnb as nb
        >>> X, y = [[0, 1], [0, 0], [1, 0], [1, 1]], [0, 0, 1, 1]
        >>> post = nb.fit_posterior(nb.NaiveBayes(nb.Bernoulli()), X, y)
        >>> ax = nb.plots.robustness_curve(Figure().subplots(), nb.robustness(post, X), y)
        >>> ax.get_xlabel(), ax.get_legend_handles_labels()[1]
        ('pseudo-rows', ['accuracy of the decisions left', 'decisions left', 'wrong decisions'])
    """
    s_star, y = np.asarray(found.s_star, float), np.asarray(y)
    if not s_star.size:
        raise ValueError("found must be of one row or more, and nb.robustness was given none")
    if y.shape != s_star.shape or y.dtype.kind not in "iub":
        raise ValueError(
            f"y must be labels [{len(s_star)}], integers 0 to K - 1, one for each row of found, got {y.dtype} of shape "
            f"{y.shape}; labels of an estimator are np.searchsorted(clf.classes_, y)"
        )
    order = np.argsort(s_star)
    s, right = s_star[order], (np.asarray(found.labels) == y)[order]
    first = np.searchsorted(s, s)  # rows of one s* change together
    left = len(s) - first
    accuracy = np.cumsum(right[::-1])[::-1][first] / left
    ax.step(s, accuracy, where="pre", label="accuracy of the decisions left", color=COLOURS[0], linewidth=1.8)
    ax.step(s, left / len(s), where="pre", label="decisions left", color="0.5", linestyle="--", linewidth=1.2)
    ax.plot(s[~right], accuracy[~right], "x", label="wrong decisions", color=COLOURS[5], markersize=7)
    ax.set_ylim(0.0, 1.03)
    ax.set_xlabel("pseudo-rows")
    ax.set_ylabel("share of the test rows")
    return tidy(ax)


def _costs_of_decisions(proba: Array, y: Array, x: Array) -> Array:
    share = (y == 1).mean()
    miss, alarm = x / share, (1.0 - x) / (1.0 - share)
    labels = (decide(proba, [[0.0, a], [m, 0.0]]).labels for m, a in zip(miss, alarm, strict=True))
    wrong = np.stack([((label != y)[:, None] & (y[:, None] == [1, 0])).mean(axis=0) for label in labels])
    return miss * wrong[:, 0] + alarm * wrong[:, 1]


def _lowest(score: Array, y: Array, x: Array) -> Array:
    """The lowest costs of any threshold on the probability of class 1."""
    order = np.argsort(-score, kind="stable")
    last = np.append(np.diff(score[order]) != 0, True)  # rows of one score are on one side
    hits, alarms = (np.append(0, np.cumsum(y[order] == k)[last]) / (y == k).sum() for k in (1, 0))
    return np.array([(one * (1.0 - hits) + (1.0 - one) * alarms).min() for one in x])
