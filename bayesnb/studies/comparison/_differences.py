"""Methods of a study less a reference, on the same splits: by set and size, and over sets."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from bayesnb.studies.comparison._designs import CROSSED
from bayesnb.studies.comparison._metrics import BY_ROW, SETS_BY_ROW, STUDY_METRICS
from bayesnb.studies.comparison._over_sets import OverSets, hierarchical, signed_rank
from bayesnb.studies.comparison._paired import Difference, Regions, check_rope, corrected, crossed
from bayesnb.tables.frames._series import Array, DataError, closest

ALL_SETS = "all sets"
LARGEST = "largest"
"""A size: the largest of each set. All sets together have size 0 if theirs differ."""

Counts = tuple[int, int, int]
"""Numbers of sets, of splits where both methods have a value, and of those where one failed."""

OVER = ("signed rank", "hierarchical")
PROBABILITIES = ("p_worse", "p_equal", "p_better")
COLUMNS = ("data_set", "size", "method", "reference", "metric", "mean", "posterior_mean", "low", "high", *PROBABILITIES)
COUNTS = ("sets", "splits", "missing")


def differences(
    study: Any,
    reference: str,
    *,
    metric: str = "log_loss",
    rope: float = 0.01,
    size: int | str | None = None,
    over: str = OVER[0],
    seed: int = 0,
) -> pd.DataFrame:
    """What ``Experiment.differences`` answers, whose arguments these are."""
    check_rope(rope)
    _require("method", reference, study.methods)
    _require("way to put sets together", over, OVER)
    _require("metric", metric, STUDY_METRICS)
    sizes = {name: study.sizes(name)[-1:] if size == LARGEST else study.sizes(name) for name in study.sets}
    every = sorted({own for some in sizes.values() for own in some})
    if size not in (None, LARGEST):
        _require("size of training sets", size, every)
    others = [method for method in study.methods if method != reference]
    rows, found = [], dict[tuple[int, str], list[tuple[Difference, Counts]]]()
    for data_set in study.sets:
        for own in sizes[data_set]:
            for method in others if size in (None, LARGEST, own) else ():
                one, counts = difference_of(study, data_set, own, method, reference, metric)
                about = data_set, own, method, reference, metric
                rows.append(_row(about, one.mean, one, one.interval(), one.regions(rope), counts))
                level = 0 if size == LARGEST and len(every) > 1 else own
                found.setdefault((level, method), []).append((one, counts))
    for (own, method), parts in sorted(found.items(), key=lambda item: (item[0][0], others.index(item[0][1]))):
        together, counts = _over_sets(parts, rope, over, seed)
        if together is not None:
            about = ALL_SETS, own, method, reference, metric
            mean = float(np.nanmean([difference.mean for difference, _ in parts]))
            rows.append(_row(about, mean, together, (together.low, together.high), together.regions, counts))
    return pd.DataFrame(rows, columns=[*COLUMNS, "estimator", *COUNTS])


def difference_of(
    study: Any, data_set: str, size: int, method: str, reference: str | None, metric: str
) -> tuple[Difference, Counts]:
    """The difference of two methods on one set; the mean of one method without a reference."""
    design, by_row = study.design_of(data_set, size), metric in BY_ROW + SETS_BY_ROW

    def scores(one: str) -> Array:
        if not by_row:
            return study.values(data_set, size, one, metric)[:, None]
        losses = study.losses(data_set, size, one, metric)
        return 1.0 - losses if STUDY_METRICS[metric].higher_is_better else losses

    rows = scores(method) if reference is None else scores(method) - scores(reference)
    complete = rows[np.isfinite(rows).all(axis=1)]
    counts = 1, len(complete), len(rows) - len(complete)
    if not len(complete):
        return Difference(np.nan, np.nan, np.nan, "no interval: no split where both have a value"), counts
    if design != CROSSED:
        return corrected(complete.mean(axis=1), study.num_test(data_set) / size), counts
    if not by_row:
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


def _row(about: Any, mean: float, found: Any, ends: Sequence[float], regions: Regions, counts: Counts) -> Any:
    """A row of the plain mean and of the posterior that was found; what is worse is above for a loss."""
    from_worse = regions if STUDY_METRICS[about[-1]].higher_is_better else regions[::-1]
    return *about, mean, found.mean, *ends, *from_worse, found.estimator, *counts


def _require(what: str, name: Any, known: Any) -> None:
    if name not in known:
        raise DataError(
            f"there is no {what} {name!r} among {', '.join(map(str, known))}{closest(str(name), [*map(str, known)])}"
        )
