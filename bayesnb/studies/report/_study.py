"""A study: what methods scored on the same splits of several data sets, as frames, tables and pictures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from bayesnb.core.fits._closed_form import fit_posterior
from bayesnb.core.rows._arguments import check_counts
from bayesnb.inspection._arviz import elpd_data
from bayesnb.learned.validation._cross_validate import cross_validate
from bayesnb.learned.validation._leave_one_out import leave_one_out
from bayesnb.studies.comparison._designs import Design, Split
from bayesnb.studies.comparison._differences import LARGEST, differences
from bayesnb.studies.comparison._journal import Journal
from bayesnb.studies.comparison._metrics import BY_ROW, LOG_SMALLEST, SET_METRICS, SETS_BY_ROW, STUDY_METRICS
from bayesnb.studies.comparison._over_sets import Friedman, friedman, wilcoxon
from bayesnb.studies.comparison._run import Plan
from bayesnb.studies.comparison._scored_cells import Cell, Place
from bayesnb.studies.comparison._standings import best_method
from bayesnb.studies.plots._studies import draw_curves, draw_differences, num_pages
from bayesnb.studies.report._score_table import score_table
from bayesnb.tables.frames._series import Array, DataError, closest

if TYPE_CHECKING:
    from matplotlib.figure import Figure


class Experiment:
    """What ``experiment`` found: sets x splits x sizes x methods x metrics.

    Attributes:
        methods: The names of the methods.
        metrics: The names of the metrics.
        designs: The splits of each set.
        keys: The key of each cell.
        journal: The cells that have run, by key.

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
        self.designs, self.keys, self.journal, self._plan = designs, keys, journal, plan

    def __repr__(self) -> str:
        failed = sum(bool(self.journal[key].failed) for key in self.keys.values() if key in self.journal)
        return f"Experiment(sets={len(self.sets)}, methods={len(self.methods)}, cells={len(self.keys)}, {failed=})"

    @property
    def sets(self) -> list[str]:
        """The names of the data sets."""
        return [*self.designs]

    @property
    def design(self) -> str:
        """ "crossed", "resplit" or "forward"; see ``experiment``."""
        return next(iter(self.designs.values())).name

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

        ``value`` is NaN where ``status`` is "failed", "undefined" or "missing", for the ``reason``. Beside the test
        scores stand the exact leave-one-out log loss and the log evidence of the training rows, of exact posteriors;
        the share of test rows that were impossible; the pseudo-rows s of sets of classes; and the number of classes
        without a training row. ``key`` is that of the cell.
        """
        rows = []
        for place, key in self.keys.items():
            cell = self.journal.get(key, NOT_RUN)
            about = key, cell.classes_missing, cell.impossible, cell.loo_log_loss, cell.log_evidence, cell.pseudo_rows
            for metric in self.metrics:
                reason = cell.failed or cell.undefined.get(metric, "")
                status = "missing" if cell is NOT_RUN else "failed" if cell.failed else "undefined" if reason else "ok"
                rows.append((*place, metric, cell.values.get(metric), status, reason, *about))
        names = (*Place._fields, "metric", "value", "status", "reason", "key", "classes_missing", *NUMBERS)
        return pd.DataFrame(rows, columns=names).astype(dict.fromkeys(("value", *NUMBERS), float))

    def scores(self, metric: str | None = None, size: int | None = None) -> pd.DataFrame:
        """The mean over splits, sets x methods, as autorank, scikit-posthocs and baycomp take it.

        NaN for a method that failed on some split of a set: the mean of the others would be of easier splits.

        Args:
            metric: One of those of the study, by default its first.
            size: Of training sets; by default the largest of each set. Sets that do not have it are left out.
        """
        metric = self._metric(metric)
        frame = self.frame()
        sizes = {name: self.sizes(name)[-1] if size is None else size for name in self.sets}
        frame = frame[(frame["metric"] == metric) & (frame["size"] == frame["data_set"].map(sizes))]
        if frame.empty:
            raise DataError(f"no set has training sets of {size} rows: the sizes are {self._all_sizes()}")
        means = frame.groupby(["data_set", "method"])["value"].agg(lambda values: values.mean(skipna=False)).unstack()
        return means.reindex(index=[name for name in self.sets if name in means.index], columns=self.methods)

    def ranks(self, metric: str | None = None, size: int | None = None, failures: str = "worst") -> pd.DataFrame:
        """The rank of each method on each set, from 1 for the best; those of equal scores are averaged.

        Args:
            metric, size: As for ``scores``.
            failures: A method that failed on some split ranks last, "worst", or has no rank, "nan".
        """
        if failures not in ("worst", "nan"):
            raise DataError(f"failures must be 'worst' or 'nan', got {failures!r}")
        metric = self._metric(metric)
        scores = self.scores(metric, size)
        up, option = not STUDY_METRICS[metric].higher_is_better, "bottom" if failures == "worst" else "keep"
        return scores.rank(axis=1, ascending=up, na_option=option)

    def losses(self, data_set: str, size: int, method: str, metric: str = "log_loss") -> Array:
        """The loss of each split on each test row, [R, T]: in nats, squared errors, or 1 for a wrong prediction.

        Of sets of classes: 1 less the utility, or 1 for a set of more than one class. Rows of a split that failed, and
        of a method without sets, are NaN. In a crossed design a column is one test row.
        """
        kept = BY_ROW + SETS_BY_ROW if {*self.metrics} & {*SET_METRICS} else BY_ROW
        if metric not in kept:
            raise DataError(f"'{metric}' is no mean over test rows of this study; {', '.join(kept)} are")
        splits = self._of(data_set).splits(size)
        losses = np.full((len(splits), len(splits[0].test)), np.nan)
        for number in range(len(splits)):
            key = self.keys.get(Place(data_set, number, size, method))
            if key is not None and key in self.journal:
                found = self.journal.losses(key)
                if kept.index(metric) < len(found):  # a method may have no sets
                    losses[number] = found[kept.index(metric)]
        return losses

    def values(self, data_set: str, size: int, method: str, metric: str = "log_loss") -> Array:
        """The value of a metric on each split, [R]; NaN where there is none."""
        keys = [self.keys.get(Place(data_set, split, size, method), "") for split in range(len(self.splits(data_set)))]
        return np.array([self.journal.get(key, NOT_RUN).values.get(metric, np.nan) for key in keys])

    def failures(self) -> pd.DataFrame:
        """The rows of the frame without a value, with their reasons."""
        frame = self.frame()
        return frame[frame["status"] != "ok"]

    def cost(self) -> pd.DataFrame:
        """By set and method: the fits, the training rows of all of them, and their seconds."""
        done = [(place, self.journal[key].seconds) for place, key in self.keys.items() if key in self.journal]
        rows = [(place.data_set, place.method, 1, place.size, seconds) for place, seconds in done]
        frame = pd.DataFrame(rows, columns=["data_set", "method", "fits", "rows", "seconds"])
        return frame.groupby(["data_set", "method"], sort=False).sum().reset_index()

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

    def elpd(self, data_set: str) -> dict[str, Any]:
        """``left_out`` as ArviZ has it, {method: ELPDData}: ``az.compare(study.elpd("iris"))``."""
        return {name: elpd_data(np.maximum(values, LOG_SMALLEST)) for name, values in self.left_out(data_set).items()}

    def differences(
        self,
        reference: str,
        rope: float = 0.01,
        metric: str | None = None,
        size: int | str | None = None,
        over: str = "signed rank",
        seed: int = 0,
    ) -> pd.DataFrame:
        """Each method less the reference, on the same splits: by set and size, and over sets, as "all sets".

        ``mean`` and the 95 % interval, ``low`` to ``high``, are in the metric's own sign. ``p_equal`` is the
        probability that the true difference is at most ``rope``, and ``p_worse`` and ``p_better`` that it is more;
        over sets they are about most sets. There ``mean`` is the plain mean of the sets, ``posterior_mean`` that of the
        posterior, which has the interval and the probabilities; of one set they are equal. ``estimator`` says how they
        were found: by crossed training and test rows, or the corrected resampled t where training sets are most of the
        pool. ``missing`` counts splits on which one of the two failed: they are left out.

        Args:
            reference: One of the methods; or "best", that of the lowest mean rank, which luck has helped.
            rope: Up to this difference two methods are equal in practice.
            metric: One of those of the study, by default its first.
            size: Of training sets; by default each. Or "largest", that of each set; if they differ, "all sets" has 0.
            over: How sets are put together: "signed rank", or "hierarchical", which weighs sets by their errors and
                samples by NUTS, in seconds for each method and size.
            seed: Of the draws over sets.

        Raises:
            DataError: for an unknown method, metric, size or way.

        Example:
            >>> import bayesnb as nb
            >>> study = nb.experiment(["iris", "wine"], ["MLE", "full Bayes"], sizes=[20], splits=10)
            >>> found = study.differences("MLE", rope=0.01)
            >>> found[["data_set", "method", "estimator"]].values.tolist()[-2:]
            [['wine', 'full Bayes', 'crossed'], ['all sets', 'full Bayes', 'Bayesian signed rank']]
        """
        metric = self._metric(metric)
        reference = self._reference(reference, metric, None if size == LARGEST else size)
        return differences(self, reference, rope=rope, metric=metric, size=size, over=over, seed=seed)

    def wilcoxon(self, metric: str | None = None, size: int | None = None) -> pd.DataFrame:
        """Wilcoxon's signed-rank test of each pair of methods over sets, p and p with Holm's correction."""
        return wilcoxon(self.scores(metric, size))

    def friedman(self, metric: str | None = None, size: int | None = None) -> Friedman:
        """Friedman's test that all methods rank alike over sets: ``statistic``, ``p`` and the mean ``ranks``."""
        metric = self._metric(metric)
        return friedman(self.scores(metric, size), higher_is_better=STUDY_METRICS[metric].higher_is_better)

    def to_latex(
        self, path: str | Path | None = None, metric: str | None = None, size: int | None = None, rope: float = 0.01
    ) -> str:
        """The mean scores as a table of LaTeX's package booktabs, written to ``path`` if there is one.

        The best of each set is bold. A star marks those that are more probably equal to it, to within ``rope``, than
        not; the note below the table says by which estimator.
        """
        text = score_table(self, self._metric(metric), size, rope)
        if path is not None:
            Path(path).write_text(text, encoding="utf-8")
        return text

    def plot(
        self,
        path: str | Path | None = None,
        metric: str | None = None,
        reference: str | None = None,
        size: int | None = None,
        rope: float = 0.01,
        page: int = 1,
    ) -> Figure:
        """Learning curves of all sets; with a ``reference``, the differences from it at one size as a forest.

        A figure has the curves of 30 sets at most; those of the next 30 are the next ``page``.

        Bands of curves, and lines of the forest, are 95 % intervals; bands far wider than what the curves span are cut.
        A log loss has a logarithmic scale. By default the forest has the largest size that all sets have.

        Args:
            path: A file to write, such as "curves.pdf".
            metric, rope: As for ``differences``.
            reference: A method, or "best", from which the others differ.
            size: Of training sets, of the forest.
            page: Of the curves, from 1; the forest has one page.

        Returns:
            The figure, of matplotlib.
        """
        metric, pages = self._metric(metric), num_pages(self) if reference is None else 1
        check_counts(page=page)
        if page > pages:
            raise DataError(f"there is no page {page}: this picture of {len(self.sets)} sets has {pages}")
        if reference is None:
            figure = draw_curves(self, metric, page)
        else:
            shared = set.intersection(*(set(self.sizes(name)) for name in self.sets))
            if size is None and not shared:
                raise DataError(f"the sets have no size in common, so give one of {self._all_sizes()}")
            chosen = max(shared) if size is None else size
            figure = draw_differences(self.differences(reference, rope, metric, chosen), rope)
        if path is not None:
            figure.savefig(path)
        return figure

    def _repr_html_(self) -> str:
        return score_table(self, self.metrics[0], latex=False)

    def _of(self, data_set: str) -> Design:
        if data_set not in self.designs:
            raise DataError(f"there is no set '{data_set}' among {', '.join(self.sets)}{closest(data_set, self.sets)}")
        return self.designs[data_set]

    def _metric(self, metric: str | None) -> str:
        metric = self.metrics[0] if metric is None else metric
        if metric not in self.metrics:
            raise DataError(f"the study has the metrics {', '.join(self.metrics)}, not '{metric}'")
        return metric

    def _reference(self, given: str, metric: str, size: Any = None) -> str:
        if given != "best" or given in self.methods:
            return given
        up = STUDY_METRICS[metric].higher_is_better
        return best_method(self.scores(metric, size), higher_is_better=up)

    def _all_sizes(self) -> str:
        return ", ".join(map(str, sorted({size for name in self.sets for size in self.sizes(name)})))


NOT_RUN = Cell(failed="it has not run: run the experiment again with this folder")
NUMBERS = ("impossible", "loo_log_loss", "log_evidence", "pseudo_rows")
