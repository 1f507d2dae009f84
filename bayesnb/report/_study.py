"""A study: methods on the same splits of several data sets, in one tidy frame; run again, only what is missing runs."""

from __future__ import annotations

import platform
import socket
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from bayesnb import __version__
from bayesnb.arrays._user_warnings import warn
from bayesnb.comparison._cells import BY_ROW, Place
from bayesnb.comparison._contestants import read_methods
from bayesnb.comparison._data_sets import DataSet, read_sets
from bayesnb.comparison._designs import CROSSED, RESPLIT, Design, Forward, check_sizes, make_design
from bayesnb.comparison._differences import differences
from bayesnb.comparison._elpd import elpd_data
from bayesnb.comparison._experiment import Split
from bayesnb.comparison._journal import Journal, open_journal
from bayesnb.comparison._metrics import STUDY_METRICS
from bayesnb.comparison._run import Plan, run
from bayesnb.fits._closed_form import fit_posterior
from bayesnb.frames._series import Array, DataError, closest
from bayesnb.rows._arguments import check_counts
from bayesnb.validation._cross_validate import cross_validate
from bayesnb.validation._leave_one_out import leave_one_out


def experiment(
    sets: Any,
    methods: Any = ("MLE", "MAP", "full Bayes", "default"),
    sizes: Sequence[int] | None = None,
    splits: int | Forward = 30,
    metrics: Sequence[str] = BY_ROW,
    seed: int = 0,
    groups: Mapping[str, Any] | None = None,
    timeout: float | None = None,
    out: str | Path | None = None,
    *,
    design: str = CROSSED,
    on_cell: Callable[[Place, int], object] | None = None,
) -> Experiment:
    """Every method on every set, at growing sizes of the training set, on the same random splits.

    By default a set has one stratified test part, 30 % of its rows, and ``splits`` permutations of the others, whose
    prefixes are the training sets: all are scored on the same rows, so that the variation of training sets and that of
    test rows are told apart. A size above half of the rows to train on has test rows of its own in each split. Closed
    forms at all sizes share the statistics of one pass.

    Args:
        sets: By name (X, y), with X a frame or an array and y labels of any kind; (frame, "target"); (model, X, y) for
            a model and its rows; or a file, "adult.csv:income", or a set of scikit-learn, "iris". Or a list of files.
        methods: Of ``bayesnb compare``, by name; estimators of scikit-learn; (name, function), where ``function(model,
            X, y)`` returns what has ``predict_log_proba``, and may take ``seed``; NumPyro programs of X and y; and what
            ``methods`` returns.
        sizes: Training rows. By default 16, 23, 32, 45, 64, ... up to half of the rows to train on.
        splits: Their number, or ``forward(...)`` for rows in the order of time.
        metrics: Some of log_loss, accuracy, brier, ece and auc.
        seed: Of the splits, and of methods that draw at random.
        groups: By set the group of each row, such as a patient: a group trains or tests as a whole.
        timeout: Seconds after which a fit of another author's code is ended; it is then a failed cell.
        out: A folder for the cells. Run again, with the same or more sets, methods, sizes and splits, only cells that
            are not in it run; so it may be stopped at any time.
        design: "resplit" draws test rows anew for each split.
        on_cell: Called after each cell with its place and the number of cells still to run.

    Raises:
        DataError: for what is no set, method, size or metric, and for a folder of another study.

    Example:
        >>> import bayesnb as nb
        >>> study = nb.experiment("wine", ["MLE", "full Bayes"], sizes=[16, 64], splits=5)
        >>> study.scores("log_loss", size=16).round(2).to_dict("index")
        {'wine': {'MLE': 4.64, 'full Bayes': 0.31}}
    """
    metrics = _check_metrics(metrics)
    if not isinstance(splits, Forward):
        check_counts(splits=splits)
    if isinstance(seed, bool) or not isinstance(seed, int | np.integer) or seed < 0:
        raise DataError(f"seed must be a whole number from 0, got {seed!r}")
    if design not in (CROSSED, RESPLIT):
        raise DataError(
            f"design must be '{CROSSED}' or '{RESPLIT}', got {design!r}{closest(str(design), (CROSSED, RESPLIT))}"
        )
    chosen, wanted, found = read_methods(methods), check_sizes(sizes), read_sets(sets, int(seed))
    others = [name for name in groups or {} if name not in {data.name for data in found}]
    if others:
        raise DataError(f"groups are by set, and there is no set '{others[0]}'")
    designs = {}
    for data in found:
        group = None if groups is None or data.name not in groups else np.asarray(groups[data.name])[data.places]
        designs[data.name] = make_design(data.name, design, data.table.y, splits, int(seed), wanted, group)
        _warn_of_twins(data, designs[data.name])
    plan = Plan({data.name: (data, designs[data.name]) for data in found}, chosen, metrics, int(seed))
    about = {
        "bayesnb": __version__,
        "python": platform.python_version(),
        **{name: version(name) for name in ("jax", "numpyro", "numpy", "scikit-learn")},
        "host": socket.gethostname(),
        "utc": f"{datetime.now(UTC):%Y-%m-%d %H:%M:%S}",
        **{"seed": plan.seed, "splits": str(splits), "design": design, "metrics": metrics},
        "methods": {method.name: method.identity for method in chosen},
        "sets": {data.name: {"rows": len(data.table.y), "hash": data.fingerprint.hex()} for data in found},
        "keys": [*plan.keys.values()],
    }
    with nullcontext(Journal()) if out is None else open_journal(Path(out), about) as journal:
        left = sum(plan.lacks(journal, place) for place in plan.keys)

        def told(place: Place) -> None:
            nonlocal left
            left -= 1
            if on_cell is not None:
                on_cell(place, left)

        run(plan, journal, told, timeout)
    mapped = {data.name: designs[data.name].at(data.places) for data in found}
    return Experiment(mapped, [method.name for method in chosen], metrics, plan.keys, journal, plan)


class Experiment:
    """What ``experiment`` found: sets x splits x sizes x methods x metrics.

    Attributes:
        methods: The names of the methods.
        metrics: The names of the metrics.

    Example:
        >>> import bayesnb as nb
        >>> study = nb.experiment("wine", ["MLE", "full Bayes"], sizes=[20], splits=3)
        >>> study
        Experiment(sets=1, methods=2, cells=6, failed=0)
        >>> study.frame()[["data_set", "method", "metric", "status"]].iloc[0].to_list()
        ['wine', 'MLE', 'log_loss', 'ok']
    """

    def __init__(
        self,
        designs: Mapping[str, Design],
        methods: Sequence[str],
        metrics: Sequence[str],
        keys: Mapping[Place, str],
        journal: Journal,
        plan: Plan | None = None,
    ) -> None:
        self.methods, self.metrics = [*methods], [*metrics]
        self._designs, self._keys, self._journal, self._plan = designs, keys, journal, plan

    def __repr__(self) -> str:
        failed = sum(bool(self._journal[key].failed) for key in self._keys.values())
        return f"Experiment(sets={len(self.sets)}, methods={len(self.methods)}, cells={len(self._keys)}, {failed=})"

    @property
    def sets(self) -> list[str]:
        """The names of the data sets."""
        return [*self._designs]

    @property
    def design(self) -> str:
        """ "crossed", "resplit" or "forward"; see ``experiment``."""
        return next(iter(self._designs.values())).name

    def design_of(self, data_set: str, size: int) -> str:
        """The design of training sets of this size."""
        return self._of(data_set).of(size)

    def sizes(self, data_set: str) -> list[int]:
        """The sizes of training sets, increasing."""
        return [*self._of(data_set).sizes]

    def pool(self, data_set: str) -> int:
        """The number of rows from which training sets are drawn."""
        return self._of(data_set).pool

    def num_test(self, data_set: str) -> int:
        """The number of test rows of a split."""
        return len(self._of(data_set).nested[0].test)

    def splits(self, data_set: str, size: int | None = None) -> list[Split]:
        """The rows of every split, as positions in the rows that were given; large sizes have splits of their own.

        A training set of n rows is ``train[:n]``. They follow from the labels and the seed, in every version.
        """
        found = self._of(data_set)
        return [*(found.nested if size is None else found.splits(size))]

    def frame(self) -> pd.DataFrame:
        """One row for each set, split, size, method and metric.

        ``value`` is NaN where ``status`` is "failed" or "undefined", for the ``reason``. Beside the test scores stand
        the exact leave-one-out log loss and the log evidence of the training rows, of exact posteriors; the share of
        test rows that were impossible; and the number of classes without a training row. ``key`` is that of the cell.
        """
        rows = []
        for place, key in self._keys.items():
            cell = self._journal[key]
            about = key, cell.classes_missing, cell.impossible, cell.loo_log_loss, cell.log_evidence
            for metric in self.metrics:
                reason = cell.failed or cell.undefined.get(metric, "")
                status = "failed" if cell.failed else "undefined" if reason else "ok"
                rows.append((*place, metric, cell.values.get(metric), status, reason, *about))
        names = (*Place._fields, "metric", "value", "status", "reason", "key", "classes_missing", *NUMBERS)
        return pd.DataFrame(rows, columns=names).astype(dict.fromkeys(("value", *NUMBERS), float))

    def scores(self, metric: str = "log_loss", size: int | None = None) -> pd.DataFrame:
        """The mean over splits, sets x methods, as autorank, scikit-posthocs and baycomp take it.

        NaN for a method that failed on some split of a set: the mean of the others would be of easier splits.

        Args:
            metric: One of those of the study.
            size: Of training sets; by default the largest of each set. Sets that do not have it are left out.
        """
        self._require_metric(metric)
        frame = self.frame()
        sizes = {name: self.sizes(name)[-1] if size is None else size for name in self.sets}
        frame = frame[(frame["metric"] == metric) & (frame["size"] == frame["data_set"].map(sizes))]
        if frame.empty:
            raise DataError(f"no set has training sets of {size} rows: the sizes are {self._all_sizes()}")
        means = frame.groupby(["data_set", "method"])["value"].agg(lambda values: values.mean(skipna=False)).unstack()
        return means.reindex(index=[name for name in self.sets if name in means.index], columns=self.methods)

    def ranks(self, metric: str = "log_loss", size: int | None = None, failures: str = "worst") -> pd.DataFrame:
        """The rank of each method on each set, from 1 for the best; those of equal scores are averaged.

        Args:
            metric, size: As for ``scores``.
            failures: A method that failed on some split ranks last, "worst", or has no rank, "nan".
        """
        if failures not in ("worst", "nan"):
            raise DataError(f"failures must be 'worst' or 'nan', got {failures!r}")
        scores = self.scores(metric, size)
        up, option = not STUDY_METRICS[metric].higher_is_better, "bottom" if failures == "worst" else "keep"
        return scores.rank(axis=1, ascending=up, na_option=option)

    def losses(self, data_set: str, size: int, method: str, metric: str = "log_loss") -> Array:
        """The loss of each split on each test row, [R, T]: in nats, squared errors, or 1 for a wrong prediction.

        Rows of a split that failed are NaN. In a crossed design a column is one test row.
        """
        if metric not in BY_ROW:
            raise DataError(f"'{metric}' is no mean over test rows; {', '.join(BY_ROW)} are")
        number = len(self._of(data_set).splits(size))
        keys = [self._keys[Place(data_set, split, size, method)] for split in range(number)]
        return np.stack([self._journal.losses(key)[BY_ROW.index(metric)] for key in keys])

    def failures(self) -> pd.DataFrame:
        """The rows of the frame without a value, with their reasons."""
        frame = self.frame()
        return frame[frame["status"] != "ok"]

    def cost(self) -> pd.DataFrame:
        """By set and method: the fits, the training rows of all of them, and their seconds."""
        rows = [
            (place.data_set, place.method, 1, place.size, self._journal[key].seconds)
            for place, key in self._keys.items()
        ]
        frame = pd.DataFrame(rows, columns=["data_set", "method", "fits", "rows", "seconds"])
        return frame.groupby(["data_set", "method"], sort=False).sum().reset_index()

    def differences(self, reference: str, *, metric: str = "log_loss", rope: float = 0.01, **how: Any) -> pd.DataFrame:
        """Each method less the ``reference``, by set and size and over sets: mean, interval, P(worse, equal, better).

        Args:
            reference: One of the methods.
            metric: One of the metrics.
            rope: The difference up to which two methods count as equal.
            how: ``size``, of training sets; ``over``, "signed rank" or "hierarchical"; ``seed`` of the draws over sets.
        """
        return differences(self, reference, metric=metric, rope=rope, **how)

    def elpd(self, data_set: str) -> dict[str, Any]:
        """Exact leave-one-out on all rows of a set by each closed form, as ArviZ's ``compare`` takes it."""
        return {method: elpd_data(found) for method, found in self.left_out(data_set).items()}

    def left_out(self, data_set: str) -> dict[str, Array]:
        """log p(y_i | x_i, D without i) of every row of a set, [N], for the methods with closed forms, exactly."""
        if self._plan is None:
            raise DataError("leave-one-out needs the rows, which a folder does not have: run the experiment again")
        self._of(data_set)
        data, found = self._plan.sets[data_set][0], {}
        for method in self._plan.methods:
            if method.closed is not None:
                placed, model = method.place(data)
                X, y = placed.rows(np.arange(len(placed.table.y)))
                if method.closed is fit_posterior:
                    table = leave_one_out(model, X, y)
                else:
                    table = cross_validate(model, X, y, folds=np.arange(len(y)), fit=method.closed)
                found[method.name] = np.asarray(table)[np.arange(len(y)), y]
        return found

    def _of(self, data_set: str) -> Design:
        if data_set not in self._designs:
            raise DataError(f"there is no set '{data_set}' among {', '.join(self.sets)}{closest(data_set, self.sets)}")
        return self._designs[data_set]

    def _require_metric(self, metric: str) -> None:
        if metric not in self.metrics:
            raise DataError(f"the study has the metrics {', '.join(self.metrics)}, not '{metric}'")

    def _all_sizes(self) -> str:
        return ", ".join(map(str, sorted({size for name in self.sets for size in self.sizes(name)})))


NUMBERS = ("impossible", "loo_log_loss", "log_evidence")


def _check_metrics(given: Any) -> tuple[str, ...]:
    metrics = (given,) if isinstance(given, str) else tuple(given)
    odd = [name for name in metrics if name not in STUDY_METRICS]
    if odd or not metrics:
        name = odd[0] if odd else ""
        raise DataError(
            f"there is no metric '{name}' among {', '.join(STUDY_METRICS)}{closest(str(name), STUDY_METRICS)}"
        )
    return metrics


def _warn_of_twins(data: DataSet, design: Design) -> None:
    """Warn of test rows that also train, if the rows are of numbers, which seldom agree by chance."""
    if "numeric" not in data.table.X:
        return
    cells = np.column_stack([*data.table.X.values(), data.table.y])
    _, kind = np.unique(cells, axis=0, return_inverse=True)
    split, kind = design.nested[0], kind.reshape(-1)
    share = float(np.isin(kind[split.test], kind[split.train]).mean())
    if share > 0.1:
        warn(
            f"set '{data.name}': {share:.0%} of the test rows are among the training rows too, cell by cell: are rows "
            "repeated? Give groups= for rows that belong together"
        )
