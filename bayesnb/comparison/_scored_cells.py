"""The cells of a study: what one fit scored on its test rows, and the key of its contents."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np

from bayesnb.comparison import _metrics as metrics
from bayesnb.comparison._contestants import Contestant
from bayesnb.comparison._data_sets import DataSet
from bayesnb.comparison._designs import Design, Split
from bayesnb.frames._series import Array


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
    common = hashlib.blake2b(b"cell 2" if s is None else f"cell 2 sets {s}".encode(), digest_size=16)
    common.update(data.fingerprint)
    for rows in (split.train[:size], split.test):
        common.update(rows.astype("<i8").tobytes() + b"|")
    found = []
    for method in methods:
        own = common.copy()
        own.update((method.identity if method.closed else f"{method.identity} seed {seed}").encode())
        found.append(own.hexdigest())
    return found


def score(log_proba: Any, y: Array, num_classes: int) -> tuple[Cell, Array]:
    """The metrics of log p(y | x) [T, K] on test rows, and the losses by row, [3, T] in the order of ``BY_ROW``.

    The loss of the accuracy is 1 for a wrong prediction. Values that are no probabilities give a failed cell.
    """
    nothing = np.full((len(metrics.BY_ROW), len(y)), np.nan)
    found = np.asarray(log_proba)
    if found.shape != (len(y), num_classes):
        shape = f"{found.shape}, expected ({len(y)}, {num_classes}): a column for each class"
        return Cell(failed=f"the log probabilities have the shape {shape}"), nothing
    if np.isnan(found).any():
        return Cell(
            failed=f"{np.isnan(found).any(axis=1).mean():.1%} of the test rows have the probability NaN"
        ), nothing
    proba = np.exp(found)
    if abs(proba.sum(axis=1) - 1).max(initial=0) > 1e-3:
        return Cell(failed=f"probabilities of a row sum to {proba.sum(axis=1).max():.4g}, expected 1"), nothing
    losses = metrics.losses_by_row(found, y)
    log_loss, brier, wrong = losses.mean(axis=1).tolist()
    bins, undefined = metrics.reliability_bins(found, y), dict[str, str]()
    values = {"log_loss": log_loss, "brier": brier, "accuracy": 1.0 - wrong, "ece": metrics.calibration_error(bins)}
    absent = num_classes - len(np.unique(y))
    if absent:
        undefined["auc"] = f"{absent} of the {num_classes} classes have no test row"
    else:
        values["auc"] = metrics.auc(proba, y)
    counts = [bins.count.tolist(), np.round(bins.confidence, 4).tolist(), bins.correct.astype(int).tolist()]
    return Cell(values, undefined, impossible=metrics.below_floor(found, y), bins=counts), losses


def score_sets(cell: Cell, sets: Array | str, y: Array, s: float) -> Cell:
    """The cell with the scores of sets of classes [T, K], or with the reason why there are none."""
    if isinstance(sets, str):
        return replace(cell, undefined=cell.undefined | dict.fromkeys(metrics.SET_METRICS, sets), pseudo_rows=s)
    found = metrics.set_scores(sets, y)
    values = {name: value for name, value in found.items() if not np.isnan(value)}
    none = "no set has one class" if values["determinacy"] == 0 else "every set has one class"
    undefined = {name: none for name in found if name not in values}
    return replace(cell, values=cell.values | values, undefined=cell.undefined | undefined, pseudo_rows=s)
