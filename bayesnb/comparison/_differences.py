"""Methods of a study less a reference, on the same splits: by set and size, and over sets."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from bayesnb.comparison._designs import CROSSED
from bayesnb.comparison._metrics import BY_ROW, STUDY_METRICS
from bayesnb.comparison._over_sets import OverSets, hierarchical, signed_rank
from bayesnb.comparison._paired import Difference, Regions, check_rope, corrected, crossed
from bayesnb.frames._series import DataError, closest

ALL_SETS = "all sets"
Counts = tuple[int, int, int]
"""Numbers of sets, of splits where both methods have a value, and of those where one failed."""

OVER = ("signed rank", "hierarchical")
COLUMNS = ("data_set", "size", "method", "reference", "metric", "mean", "low", "high", "p_worse", "p_equal", "p_better")
COUNTS = ("sets", "splits", "missing")


def differences(
    study: Any,
    reference: str,
    *,
    metric: str = "log_loss",
    rope: float = 0.01,
    size: int | None = None,
    over: str = OVER[0],
    seed: int = 0,
) -> pd.DataFrame:
    """What ``Experiment.differences`` answers, whose arguments these are."""
    check_rope(rope)
    _require("method", reference, study.methods)
    _require("way to put sets together", over, OVER)
    _require("metric", metric, STUDY_METRICS)
    sizes = sorted({own for name in study.sets for own in study.sizes(name)})
    if size is not None:
        _require("size of training sets", size, sizes)
    others = [method for method in study.methods if method != reference]
    values = values_of(study, metric)
    rows, found = [], dict[tuple[int, str], list[tuple[Difference, Counts]]]()
    for data_set in study.sets:
        for own in study.sizes(data_set):
            for method in others if size in (None, own) else ():
                difference, counts = difference_of(study, data_set, own, method, reference, metric, values)
                about = data_set, own, method, reference, metric
                rows.append(_row(about, difference, difference.interval(), difference.regions(rope), counts))
                found.setdefault((own, method), []).append((difference, counts))
    for (own, method), parts in sorted(found.items(), key=lambda item: (item[0][0], others.index(item[0][1]))):
        together, counts = _over_sets(parts, rope, over, seed)
        if together is not None:
            about = ALL_SETS, own, method, reference, metric
            rows.append(_row(about, together, (together.low, together.high), together.regions, counts))
    return pd.DataFrame(rows, columns=[*COLUMNS, "estimator", *COUNTS])


def values_of(study: Any, metric: str) -> pd.DataFrame | None:
    """What ``difference_of`` needs beside losses: the values of a metric that is no mean over rows."""
    return None if metric in BY_ROW else study.frame().query("metric == @metric")


def difference_of(
    study: Any, data_set: str, size: int, method: str, reference: str | None, metric: str, values: pd.DataFrame | None
) -> tuple[Difference, Counts]:
    """The difference of two methods on one set, less being better; the mean of one method without a reference."""
    design = study.design_of(data_set, size)
    if values is None:
        rows = study.losses(data_set, size, method, metric)
        rows = rows if reference is None else rows - study.losses(data_set, size, reference, metric)
    else:
        some = values[(values["data_set"] == data_set) & (values["size"] == size)]
        by_split = some.pivot(index="split", columns="method", values="value")
        sign = -1.0 if STUDY_METRICS[metric].higher_is_better else 1.0
        less = 0.0 if reference is None else by_split[reference]
        rows = sign * (by_split[method] - less).to_numpy()[:, None]
    complete = rows[np.isfinite(rows).all(axis=1)]
    counts = 1, len(complete), len(rows) - len(complete)
    if not len(complete):
        return Difference(np.nan, np.nan, np.nan, "no interval: no split where both have a value"), counts
    if design != CROSSED:
        return corrected(complete.mean(axis=1), study.num_test(data_set) / size), counts
    if values is not None:
        reason = f"no interval: {STUDY_METRICS[metric].heading} is no mean over rows; give design='resplit'"
        return Difference(float(complete.mean()), np.nan, np.nan, reason), counts
    return crossed(complete, size, study.pool(data_set), skewed=metric == "log_loss"), counts


def _over_sets(
    parts: Sequence[tuple[Difference, Counts]], rope: float, over: str, seed: int
) -> tuple[OverSets | None, Counts]:
    """The sets that have a mean together, unless it is one; and the sums of their counts."""
    chosen = [difference for difference, _ in parts if np.isfinite(difference.mean)]
    _, splits, missing = np.sum([counts for _, counts in parts], axis=0).tolist()
    counts = len(chosen), splits, missing
    if len(chosen) < 2:
        return None, counts
    if over == "hierarchical" and np.isfinite([difference.error for difference in chosen]).all():
        return hierarchical(chosen, rope, seed=seed), counts
    return signed_rank([difference.mean for difference in chosen], rope, seed=seed), counts


def _row(about: tuple[Any, ...], found: Any, ends: tuple[float, float], regions: Regions, counts: Counts) -> Any:
    """A row in the metric's own sign: what is worse is above for a loss."""
    numbers: tuple[float, ...] = (found.mean, *ends)
    if STUDY_METRICS[about[-1]].higher_is_better:
        numbers = tuple(0.0 - number for number in (found.mean, *ends[::-1]))  # no negative zero
    return *about, *numbers, *regions[::-1], found.estimator, *counts


def _require(what: str, name: Any, known: Any) -> None:
    if name not in known:
        raise DataError(
            f"there is no {what} {name!r} among {', '.join(map(str, known))}{closest(str(name), [*map(str, known)])}"
        )
