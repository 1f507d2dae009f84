"""The cells of a study: what one fit scored on its test rows, and the key of its contents."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np

from bayesnb.studies.comparison import _metrics as metrics
from bayesnb.studies.comparison._contestants import Contestant
from bayesnb.studies.comparison._data_sets import DataSet
from bayesnb.studies.comparison._designs import Design, Split
from bayesnb.tables.frames._series import Array


class Place(NamedTuple):
    """Where a cell stands in a study."""

    data_set: str
    split: int
    size: int
    method: str

    @classmethod
    def all(cls, designs: Mapping[str, Design], methods: Iterable[str]) -> list[Place]:
        """Every place of a study, set by set, size by size, split by split."""
        return [
            cls(name, split, size, method)
            for name, design in designs.items()
            for size in design.sizes
            for split in range(len(design.nested))
            for method in methods
        ]


@dataclass(frozen=True)
class Cell:
    """What one fit scored.

    Attributes:
        values: The metrics that are defined, by name.
        undefined: Why others are not, by name.
        failed: Why there are none at all; empty if the fit succeeded.
        impossible: The share of test rows whose true class got a probability below e^-87.3.
        classes_missing: The number of classes without a training row.
        loo_log_loss, log_evidence: Of an exact posterior, from its training rows.
        seconds, fit_seconds: Its share of the wall time, and of that the fit's.
        bins: Counts, sums of confidence and correct predictions by confidence.
        pseudo_rows: s of the sets of classes, if there are any.
    """

    values: dict[str, float] = field(default_factory=dict)
    undefined: dict[str, str] = field(default_factory=dict)
    failed: str = ""
    impossible: float | None = None
    classes_missing: int = 0
    loo_log_loss: float | None = None
    log_evidence: float | None = None
    seconds: float = 0.0
    fit_seconds: float = 0.0
    bins: list[list[float]] | None = None
    pseudo_rows: float | None = None


def keys_of(
    data: DataSet, split: Split, size: int, methods: Sequence[Contestant], seed: int, s: float | None = None
) -> list[str]:
    """For each method 32 hex digits that follow from rows, labels, split, size and method, and from s of its sets."""
    common = hashlib.blake2b(b"cell 2" if s is None else f"cell 3 sets {s}".encode(), digest_size=16)
    common.update(data.fingerprint)
    for rows in (split.train[:size], split.test):
        common.update(rows.astype("<i8").tobytes() + b"|")
    found = []
    for method in methods:
        own = common.copy()
        own.update((method.identity if method.closed else f"{method.identity} seed {seed}").encode())
        found.append(own.hexdigest())
    return found


Scored = tuple[Cell, Array]
"""A cell, and the losses by row in the order of ``BY_ROW``, [3, T]: that of the accuracy is 1 for a wrong class.

With sets [6, T]: those of ``SETS_BY_ROW`` follow.
"""


def failed(reason: str, num_rows: int) -> Scored:
    """The cell of a fit without scores."""
    return Cell(failed=reason), np.full((len(metrics.BY_ROW), num_rows), np.nan)


def score(log_proba: Array, y: Array, num_classes: int) -> list[Scored]:
    """The cell of each of several fits, from log p(y | x) of test rows [F, T, K]; values may be no probabilities."""
    if log_proba.shape[1:] != (len(y), num_classes):
        shape = f"{log_proba.shape[1:]}, expected ({len(y)}, {num_classes}): a column for each class"
        return [failed(f"the log probabilities have the shape {shape}", len(y))] * len(log_proba)
    proba = np.exp(log_proba)
    missing: Array = np.isnan(proba).any(axis=2).mean(axis=1)
    sums = proba.sum(axis=2)
    cells = dict[int, Scored]()
    for f in np.flatnonzero(missing).tolist():
        cells[f] = failed(f"{missing[f]:.1%} of the test rows have the probability NaN", len(y))
    for f in np.flatnonzero(np.abs(sums - 1).max(axis=1, initial=0) > 1e-3).tolist():
        cells[f] = failed(f"probabilities of a row sum to {sums[f].max():.4g}, expected 1", len(y))
    sound = [f for f in range(len(proba)) if f not in cells]
    log_proba, proba = log_proba[sound], proba[sound]
    losses, bins = metrics.losses_by_row(log_proba, y), metrics.reliability_bins(log_proba, y)
    log_loss, brier, wrong = losses.mean(axis=2)
    found = {"log_loss": log_loss, "brier": brier, "accuracy": 1.0 - wrong, "ece": metrics.calibration_error(bins)}
    absent, undefined = num_classes - len(np.unique(y)), dict[str, str]()
    if absent:
        undefined["auc"] = f"{absent} of the {num_classes} classes have no test row"
    else:
        found["auc"] = metrics.auc(proba, y)
    values: list[list[float]] = np.transpose([*found.values()]).tolist()
    impossible = np.mean(log_proba[:, np.arange(len(y)), y] < metrics.LOG_SMALLEST, axis=1).tolist()
    counts: Any = bins.count.tolist(), np.round(bins.confidence, 4).tolist(), bins.correct.astype(int).tolist()
    for i, f in enumerate(sound):
        named, own = dict(zip(found, values[i], strict=True)), [part[i] for part in counts]
        cells[f] = Cell(named, {**undefined}, impossible=impossible[i], bins=own), losses[:, i]
    return [cells[f] for f in range(len(cells))]


def score_sets(scored: Scored, sets: Array | str, y: Array, s: float) -> Scored:
    """The cell with the scores of sets of classes [T, K], or with the reason why there are none."""
    cell, losses = scored
    if isinstance(sets, str):
        undefined = cell.undefined | dict.fromkeys(metrics.SET_METRICS, sets)
        return replace(cell, undefined=undefined, pseudo_rows=s), losses
    found = metrics.set_scores(sets, y)
    values = {name: value for name, value in found.items() if not np.isnan(value)}
    none = "no set has one class" if values["determinacy"] == 0 else "every set has one class"
    undefined = {name: none for name in found if name not in values}
    cell = replace(cell, values=cell.values | values, undefined=cell.undefined | undefined, pseudo_rows=s)
    return cell, np.vstack([losses, metrics.set_losses_by_row(sets, y)])
