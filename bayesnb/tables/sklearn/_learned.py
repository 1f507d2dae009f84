"""What a fit has learned besides its posterior, in words and by column."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from bayesnb.compute.arrays._placement import Array
from bayesnb.core.families._views import by_view, shares
from bayesnb.core.results._classifier import Classifier, Posterior
from bayesnb.learned.forests._posterior import ForestPosterior
from bayesnb.learned.forests._stacked import StackedPosterior
from bayesnb.tables.frames._columns import MISSING, SKIP


class Part(NamedTuple):
    """A part of an average: its ``share``, and its mean of -log p(y | x, the other rows).

    Example:
        >>> import bayesnb as nb
        >>> rows, labels = [[0, 0], [1, 1], [0, 1], [1, 0]] * 5, ["same", "same", "other", "other"] * 5
        >>> clf = nb.NaiveBayesClassifier("bernoulli").fit(rows, labels)
        >>> {name: round(part.log_loss, 2) for name, part in clf.learned_.parts.items()}
        {'columns': 0.77, 'best': 0.02, 'aode': 0.02}
    """

    share: float
    log_loss: float


class Learned(NamedTuple):
    """What ``NaiveBayesClassifier`` learned.

    Attributes:
        summary: It in words, with flags of missing cells; empty for a fit that learned nothing and has none.
        powers: The powers of each column in the posterior without dependence, [V] of its views, or of its block as a
            whole; {} for none.
        parts: The parts of an average by name, "columns" for that without dependence; {} for a single fit.

    Example:
        >>> import bayesnb as nb
        >>> from sklearn.datasets import load_iris
        >>> iris = load_iris(as_frame=True)
        >>> clf = nb.NaiveBayesClassifier().fit(iris.data, iris.target)
        >>> clf.learned_.summary
        '3 views of 4 numbers, dependence, powers learned on 150 of 150 rows'
        >>> [(name, round(part.share, 2)) for name, part in clf.learned_.parts.items()]
        [('columns', 0.27), ('best', 0.08), ('aode', 0.08), ('lda', 0.2), ('qda', 0.37)]
    """

    summary: str
    powers: dict[str, Array]
    parts: dict[str, Part]


def describe_learned(
    fit: Classifier,
    names: Mapping[str, Sequence[str]],
    num_learned: int,
    has_too_many_pairs: bool,
    unlabelled: tuple[int, float] | None,
) -> Learned:
    """What a fit of columns with these names, by block, learned from so many rows, and why not more."""
    if unlabelled is not None:
        rows, moved = unlabelled
        return Learned(f"{_counted(rows, 'row')} without a label moved probabilities by {moved:.2g} on average", {}, {})
    posterior: Any = fit.posterior if isinstance(fit, ForestPosterior) else fit
    flags = [f"{_counted(len(names[MISSING]), 'flag')} of missing cells"] if MISSING in names else []
    if not isinstance(posterior, Posterior) or posterior.powers is None:
        return Learned(", ".join(flags), {}, {})
    powers, said = dict[str, Array](), []
    for block, family in posterior.prior.families.items():
        views = len(shares(family)[0])
        of_view = np.broadcast_to(by_view(family, posterior.powers[block]), (views, len(names[block])))
        powers |= {name: np.asarray(of_view[:, column]) for column, name in enumerate(names[block])}
        if views > 1:
            said.append(f"{views} views of {_counted(len(names[block]), 'number')}")
    said += flags
    if isinstance(fit, StackedPosterior) and not fit.structures:
        said.append("dependence of numbers alone" + " as pairs of columns are too many" * has_too_many_pairs)
    elif isinstance(fit, StackedPosterior | ForestPosterior):
        said.append("dependence")
    elif has_too_many_pairs:
        said.append("no dependence as its pairs are too many")
    if num_learned:
        total = round(float(np.sum(np.asarray(posterior.statistics.class_counts))))
        said.append(f"powers learned on {num_learned:,} of {_counted(total, 'row')}")
    parts = {}
    if isinstance(fit, StackedPosterior):
        numbers = zip(fit.parts, np.asarray(fit.shares).tolist(), np.asarray(fit.log_losses).tolist(), strict=False)
        parts = {name: Part(share, loss) for name, share, loss in numbers}
    return Learned(", ".join(said), powers, parts)


def count_kinds(kinds: Sequence[str]) -> str:
    """How many columns have each likelihood, and how many are left out, in words."""
    counts = Counter(kinds)
    left_out = counts.pop(SKIP, 0)
    said = [f"{count} {kind}" for kind, count in counts.most_common()]
    return ", ".join([*said, *([f"{left_out} left out"] if left_out else [])])


def _counted(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'s' * (number != 1)}"
