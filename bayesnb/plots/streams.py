"""A plot of a stream: how much better than another one each way to forget has predicted its rows so far."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

import numpy as np

from bayesnb.arrays.typing import ArrayLike
from bayesnb.plots.style import class_line, shorten, tidy

if TYPE_CHECKING:
    from matplotlib.axes import Axes


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
