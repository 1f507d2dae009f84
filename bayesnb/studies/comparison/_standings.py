"""How the methods of a study stand: their scores and ranks, and in a word whether a difference is settled."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from bayesnb.studies.comparison._differences import ALL_SETS, LARGEST, PROBABILITIES, difference_of, differences
from bayesnb.studies.comparison._methods import REFERENCE
from bayesnb.studies.comparison._metrics import STUDY_METRICS

SURE = 0.95  # Benavoli and others, Time for a change: a tutorial for comparing multiple classifiers (2017)
WORDS = ("worse", "equal", "better")  # in the order of their probabilities
NOT_SETTLED, NO_VALUE = "not settled", "no value"
APART = ("minus_reference", "posterior_mean", "low", "high", *PROBABILITIES, "estimator")
KEYS = ["data_set", "size", "method"]
SUMS = ["best", "settled", "splits", "failed", "seconds"]


def word(probabilities: Sequence[float]) -> str:
    """What is more probable than .95: to be worse by more than the ROPE, equal to within it, or better by more."""
    return next((name for name, p in zip(WORDS, probabilities, strict=True) if p > SURE), NOT_SETTLED)


def best_method(scores: pd.DataFrame, *, higher_is_better: bool) -> str:
    """The method of the lowest mean rank over sets; of equal ones full Bayes. Without a score a method ranks last."""
    ranks = scores.round(6).rank(axis=1, ascending=not higher_is_better, na_option="bottom").mean().round(6)
    return str(min(ranks.index, key=lambda method: (ranks[method], method != REFERENCE)))


def standings(study: Any, metric: str, reference: str, rope: float, size: str | None = None) -> pd.DataFrame:
    """A row for each set, size and method, and for all sets of a size; or of the ``LARGEST`` size of each set.

    ``mean`` has ``half_interval``, half of its 95 % interval, and a ``rank``; without a value on some split there is no
    mean, and the rank is the last. ``best`` is 1 for the first on its set, and ``settled`` too if every other method is
    worse or equal; ``than_best`` and ``than_reference`` say in a word what a method is, and ``p_worse`` to ``p_better``
    how probably. ``seconds`` are those of all splits. Over all sets ``rank`` is the mean, and counts are added up.
    """
    apart = differences(study, reference, metric=metric, rope=rope, size=size)
    sizes = {name: study.sizes(name)[-1:] if size == LARGEST else study.sizes(name) for name in study.sets}
    seconds = defaultdict[tuple[str, int, str], float](float)
    for (data_set, _, own, method), key in study.keys.items():
        seconds[data_set, own, method] += study.journal[key].seconds if key in study.journal else 0.0
    rows = [row for name, some in sizes.items() for own in some for row in _rows(study, name, own, metric, rope)]
    table = pd.DataFrame(rows)
    table["seconds"] = [seconds[place] for place in table[KEYS].itertuples(index=False, name=None)]
    mixed = size == LARGEST and table["size"].nunique() > 1
    levels = [(0, table)] if mixed else table.groupby("size")
    table = pd.concat([table, *(_together(part, own) for own, part in levels)], ignore_index=True)
    apart = apart.rename(columns={"mean": "minus_reference"})[[*KEYS, *APART]]
    table = table.merge(apart, how="left", on=KEYS).assign(metric=metric, reference=reference)
    table["than_reference"] = [
        "reference" if method == reference else _than(data_set == ALL_SETS, mean, p)
        for data_set, method, mean, *p in table[["data_set", "method", "mean", *PROBABILITIES]].to_numpy()
    ]
    return table


def _than(over_sets: bool, mean: float, p: Sequence[float]) -> str:
    """A word on one method; over sets those that have a difference tell, and of one set there is none to add."""
    if over_sets:
        return word(p) if not pd.isna(p).any() else ""
    return NO_VALUE if np.isnan(mean) else word(p)


def _rows(study: Any, data_set: str, size: int, metric: str, rope: float) -> list[dict[str, Any]]:
    """The methods on one set at one size."""
    up = STUDY_METRICS[metric].higher_is_better
    found = {method: difference_of(study, data_set, size, method, None, metric) for method in study.methods}
    means = pd.Series({name: np.nan if counts[2] else one.mean for name, (one, counts) in found.items()})
    ranks = means.round(6).rank(ascending=not up, na_option="bottom")
    firsts = [*means.index[means.notna() & (ranks == ranks.min())]]
    first = REFERENCE if REFERENCE in firsts else next(iter(firsts), None)
    than = dict.fromkeys(study.methods, NO_VALUE) | dict.fromkeys(firsts, "best")
    for method in means.index[means.notna()].difference(firsts):
        one, _ = difference_of(study, data_set, size, method, first, metric)
        regions = one.regions(rope)
        than[method] = word(regions if up else regions[::-1])
    settled = NOT_SETTLED not in than.values()
    return [
        {
            "data_set": data_set, "size": size, "method": method, "mean": means[method], "half_interval": one.half,
            "rank": ranks[method], "best": int(method in firsts), "settled": int(method in firsts and settled),
            "than_best": than[method], "splits": counts[1], "failed": counts[2],
        }
        for method, (one, counts) in found.items()
    ]  # fmt: skip


def _together(part: pd.DataFrame, size: int) -> pd.DataFrame:
    """The methods over the sets of one size, or with size 0 of several."""
    by_method = part.groupby("method", sort=False)
    means = by_method[["mean", "rank"]].agg(lambda values: values.mean(skipna=False))
    return means.join(by_method[SUMS].sum()).reset_index().assign(data_set=ALL_SETS, size=size)
