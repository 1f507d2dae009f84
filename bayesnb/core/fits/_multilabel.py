"""Several labels per row, not exclusive: one two-class model for each label, all fitted and predicted in one call.

A label and its absence are two classes, and each label is learned independently of the others (binary relevance):
Tsoumakas and Katakis, Multi-label classification: an overview (2007).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from bayesnb.compute.arrays import _either as either
from bayesnb.compute.arrays._placement import Node, as_array, is_traced, known, leading_size, on_host, pytree
from bayesnb.compute.arrays._typing import Array, ArrayLike, Rows
from bayesnb.compute.numerics._log_prob import LogProb
from bayesnb.core.fits._closed_form import CLOSED_FORMS, conjugate, fit_mle, fit_posterior, require_fit
from bayesnb.core.model._naive_bayes import NaiveBayes
from bayesnb.core.results._classifier import PointEstimate, Posterior
from bayesnb.core.rows import _arguments as arguments
from bayesnb.core.rows._checks import check_shapes, count_rows
from bayesnb.core.rows._labelled_rows import check_weights


@pytree
class MultiLabel(Node):
    """L classifiers with two classes each, 0 if the label is absent and 1 if it is present. X as in the fit.

    ``fits`` is a single result; each of its leaves has labels on its first axis, [L, ...].

    Example:
        >>> import bayesnb as nb
        >>> X, Y = [[1, 0], [1, 1], [0, 1], [0, 0]], [[1, 0], [1, 1], [0, 1], [0, 0]]
        >>> fit = nb.fit_multilabel(nb.NaiveBayes(nb.Bernoulli()), X, Y)
        >>> fit.num_labels, fit.predict([[1, 1]]).tolist(), round(float(fit.label(0).log_evidence), 2)
        (2, [[1, 1]], -9.18)
    """

    fits: PointEstimate | Posterior

    @property
    def num_labels(self) -> int:
        """L, the number of labels."""
        return leading_size(self.fits)

    def label(self, index: int) -> PointEstimate | Posterior:
        """The result of one label, 0..L-1, with classes 0 and 1 and with its evidence, as from a single fit."""
        if not isinstance(index, int | np.integer) or not 0 <= index < self.num_labels:
            raise ValueError(f"the labels are 0..{self.num_labels - 1}, got {index}")
        return jax.tree.map(lambda leaf: leaf[index, ...], self.fits)

    def log_odds(self, X: Rows) -> Array:
        """log p(1 | x) - log p(0 | x) of each label, [N, L]; infinite if only one of the two is possible."""
        arrays = self.label(0).arrays(X)
        if is_traced(self.fits) or not on_host(arrays):
            return _log_odds(self.fits, arrays)
        # float32 rows are scored in float64; a single fit would choose by the size of the result
        arrays = {b: x.astype(np.float64) if x.dtype == np.float32 else x for b, x in arrays.items()}
        return np.stack([_difference(fit.host_score(arrays)) for fit in self._labels], axis=1)

    @cached_property
    def _labels(self) -> list[PointEstimate | Posterior]:
        """The results of the labels, which keep what scores numpy rows."""
        return [self.label(index) for index in range(self.num_labels)]

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "_labels"}

    def predict_proba(self, X: Rows) -> Array:
        """The probability that a row has each label, [N, L]; rows do not sum to one."""
        return either.sigmoid(self.log_odds(X))

    def predict(self, X: Rows) -> Array:
        """1 for each label that is more probable than not, integers [N, L]."""
        return (self.log_odds(X) > 0).astype(int)


def fit_multilabel(
    model: NaiveBayes,
    X: Rows,
    Y: ArrayLike,
    *,
    sample_weight: ArrayLike | None = None,
    fit: Callable[..., PointEstimate | Posterior] = fit_posterior,
) -> MultiLabel:
    """One model for each label: the fits ``fit(model, X, Y[:, l])``, as one result.

    Hyperparameters set from the data are set from all rows, so they are the same for each label. Arguments not listed
    are as in ``fit_mle``.

    Args:
        model: The specification, for two classes.
        Y: Zeros and ones [N, L], one column per label.
        fit: ``fit_mle``, ``fit_map`` or ``fit_posterior``.

    Raises:
        ValueError: if the data do not fit the model, and for a label that every row or no row has.

    Example:
        >>> import bayesnb as nb
        >>> X, Y = [[1, 0], [1, 1], [0, 1], [0, 0]], [[1, 0], [1, 1], [0, 1], [0, 0]]
        >>> nb.fit_multilabel(nb.NaiveBayes(nb.Bernoulli()), X, Y).predict_proba([[1, 0]]).round(2)
        array([[0.75, 0.25]])
    """
    arguments.check_model(model)
    require_fit(fit, *CLOSED_FORMS, advice=": call it once for each label")
    if model.num_classes not in (None, 2):
        raise ValueError(f"each label has 2 classes, absent and present, got num_classes={model.num_classes}")
    if fit is not fit_mle:
        conjugate(model)
    num_rows = count_rows(check_shapes(model.families, model.single, model.by_block(X), model.columns, sparse=True))
    Y = _check_labels(Y, num_rows)
    weight = None if sample_weight is None else check_weights(sample_weight, num_rows)
    if (values := known(Y)) is not None:
        counts = np.ones(num_rows, bool) if weight is None or known(weight) is None else np.asarray(weight) > 0
        _check_label_values(values[counts])
        Y = np.where(counts[:, None], values, 0)
    model = model._replace(num_classes=2).resolve(X, Y[:, 0].astype(int), sample_weight=sample_weight)

    def of_label(y: Array) -> PointEstimate | Posterior:
        return fit(model, X, y, sample_weight=sample_weight)

    if known(Y) is None or is_traced(X, weight):
        return MultiLabel(jax.vmap(of_label)(jnp.asarray(Y, jnp.int32).T))
    fits = []
    for label, y in enumerate(np.asarray(Y, np.int32).T):
        try:
            fits.append(of_label(y))
        except ValueError as error:
            raise ValueError(f"Y, column {label}: {error}") from None
    return MultiLabel(jax.tree.map(lambda *leaves: either.stack(leaves), *fits))


def _check_labels(Y: Any, num_rows: int) -> Array:
    """Labels [N, L]."""
    if hasattr(Y, "toarray"):
        raise ValueError("Y is a sparse matrix: give a dense array, for instance Y.toarray()")
    Y = as_array(Y, "Y")
    wanted = f"Y must be zeros and ones [{num_rows}, L] for these rows of X, one column a label, got"
    if Y.ndim != 2 or Y.shape[0] != num_rows or not Y.shape[1]:
        hint = "; for a single label give Y[:, None], for classes that exclude each other use nb.fit_posterior"
        raise ValueError(f"{wanted} shape {Y.shape}{hint if Y.ndim == 1 else ''}")
    if Y.dtype.kind == "m" or (Y.dtype != bool and not jnp.issubdtype(Y.dtype, jnp.number)):
        raise ValueError(f"{wanted} dtype {Y.dtype}: use Y.astype(int), or a comparison such as Y == 'yes'")
    return Y


def _check_label_values(Y: np.ndarray[Any, Any]) -> None:
    """Raise ValueError for what is no label, and for a label that is the same in all rows."""
    for column, labels in enumerate(Y.T):
        wrong, about = labels[(labels != 0) & (labels != 1)], f"Y, column {column}"
        if wrong.size:
            raise ValueError(f"{about}: a label is 0 or 1, got {wrong[0]}; leave out rows that lack a label")
        if (labels == labels[:1]).all():
            got = f"is {labels[0]:g} in every row" if labels.size else "has no row with a positive weight"
            raise ValueError(f"{about} {got}: nothing can be learned about this label, drop the column")


@jax.jit
def _log_odds(fits: PointEstimate | Posterior, arrays: dict[str, Array]) -> Array:
    """One label at a time: the memory is that of one label."""
    floating = jnp.result_type(float)
    arrays = {b: x.astype(floating) if jnp.issubdtype(x.dtype, jnp.floating) else x for b, x in arrays.items()}
    return jax.lax.map(lambda fit: _difference(fit.scores(arrays)), fits).T


def _difference(scores: LogProb) -> Array:
    """log p(1) - log p(0) of scores [N, 2], infinite if only one of the two is possible."""
    logs = scores.contenders()
    return logs[:, 1] - logs[:, 0]
