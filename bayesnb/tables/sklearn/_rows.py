"""Rows of the estimator: its X, y and weights are checked.

Arrays and frames are refused with scikit-learn's messages if it has any.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd
from scipy.sparse import issparse
from sklearn.utils import check_array, validation
from sklearn.utils.validation import validate_data

from bayesnb.compute.arrays._placement import fill_masked, fill_missing, is_traced
from bayesnb.core.model._naive_bayes import NaiveBayes
from bayesnb.tables.frames._blocks import Blocks, BlocksSchema
from bayesnb.tables.frames._choices import AUTO, refuse_words, takes_sparse
from bayesnb.tables.frames._classes import fill_labels, plain_labels
from bayesnb.tables.frames._series import Array, DataError, as_frame, has_names, listing
from bayesnb.tables.frames._values import reads_as_number
from bayesnb.tables.frames._words import vectorizer_of
from bayesnb.tables.sklearn._incremental import drop_zero_weights

SPARSE_FORMATS = ["csr", "csc"]


def check_rows(
    estimator: Any, X: Any, y: Any, sample_weight: Any, *, reset: bool, fills: bool = False
) -> tuple[Any, Array, Array | None, Array]:
    """The checked rows of positive weight, with their labels and weights; ``reset`` for a new fit.

    And which of them have none: if it ``fills`` missing labels, these are any.
    """
    if y is None:
        raise ValueError(
            f"This {type(estimator).__name__} estimator requires y to be passed, but the target y is None."
        )
    if getattr(getattr(estimator.likelihoods, "spelling", None), "observes", ""):
        raise DataError(
            "likelihoods is a model whose program observes other rows than its arguments, and an estimator has the "
            "columns of X alone: use nb.fit_posterior(model, model.rows(...), y)"
        )
    X = check_features(estimator, X, reset=reset)
    y, missing = fill_labels(y) if fills else (plain_labels(y), None)
    y = y if _is_plain(y, 1) else validation.column_or_1d(y, warn=True)
    if y.dtype.kind == "f":
        validation.assert_all_finite(y, input_name="y")
    validation.check_consistent_length(X, y)
    X, places, weight = drop_zero_weights(X, np.arange(len(y)), sample_weight, require_some=reset)
    return X, y[places], weight, np.zeros(len(places), bool) if missing is None else missing[places]


def check_features(estimator: Any, X: Any, *, reset: bool) -> Any:
    """X as a frame, an array, a sparse matrix or blocks of these, with the columns of the fit."""
    if is_traced(X):
        raise ValueError(
            "an estimator cannot run inside a JAX transformation: use the fit that it holds, as in "
            "jax.jit(clf.fit_.predict_proba)(clf.encoded(X))"
        )
    blocks = as_blocks(X)
    if blocks is None and isinstance(estimator.likelihoods, NaiveBayes) and not estimator.likelihoods.single:
        blocks = as_blocks(_columns_by_block(X, estimator.likelihoods))
    if not reset and isinstance(estimator.schema_, BlocksSchema):
        return estimator.schema_.require(blocks)
    if blocks is not None and reset:
        estimator.__dict__.pop("feature_names_in_", None)
        estimator.n_features_in_ = blocks.shape[1]
        return blocks
    if blocks is not None:
        raise DataError("X is a list or a dict of blocks, and the model was fitted to one array or data frame")
    frame = as_frame(X)
    if frame is None:
        X = _from_named(estimator, _from_texts(estimator, fill_masked(X), reset=reset), reset=reset)
        frame = as_frame(X)
    named = frame is not None and has_names(X)
    if not reset and not named:
        # columns without text names are identified by position
        if not estimator.schema_.named:
            frame = None
        elif hasattr(estimator, "feature_names_in_"):
            raise ValueError(
                "the model was fitted to a data frame: give one with its columns, got rows without column names"
            )
        elif frame is None:
            X = validate_data(estimator, X, reset=False, dtype=None, ensure_all_finite=False, ensure_min_samples=0)
            return as_frame(pd.DataFrame(X, columns=estimator.schema_.names))
        elif {*frame.columns} != {*estimator.schema_.names}:
            raise DataError(
                f"the data frame has the columns {listing(frame.columns)}, and the model was fitted to "
                f"{listing(estimator.schema_.names)}: give the same, or an array in their order, X.to_numpy()"
            )
    if frame is None:
        return _array(estimator, X, reset=reset)
    if reset and not (frame.shape[0] and frame.shape[1]):
        raise DataError(f"X has {frame.shape[0]} rows and {frame.shape[1]} columns: give at least one of each")
    if not reset and estimator.schema_.named and frame.columns != (names := estimator.schema_.names):
        if estimator.schema_.near(frame.columns):
            estimator.schema_.require(frame.columns)
        estimator.schema_.warn_of_extra(frame.columns, estimator._target)
        if {*names} <= {*frame.columns}:  # else scikit-learn says which are missing
            frame = frame[names]
            X = frame.to_native()
    # scikit-learn ignores names if none is text, and raises an error if only some are
    given = X if named or frame is None else np.broadcast_to(0.0, frame.shape)
    validate_data(estimator, given, reset=reset, skip_check_array=True)
    return frame


def takes_counts(estimator: Any) -> bool:
    """Whether all columns are counts."""
    return isinstance(estimator.likelihoods, str) and estimator.likelihoods in ("multinomial", "poisson")


def as_blocks(X: Any) -> Blocks | None:
    """X as blocks if it is a list or a dict with two-dimensional entries, else None.

    Raises:
        DataError: for a block that is not a matrix or a frame, and if the blocks differ in their numbers of rows.
    """
    if not isinstance(X, list | tuple | Mapping):
        return None
    entries = X.values() if isinstance(X, Mapping) else X
    if not any(len(getattr(block, "shape", ())) == 2 for block in entries):
        return None
    given = X if isinstance(X, Mapping) else {f"block_{place}": block for place, block in enumerate(X, 1)}
    blocks = Blocks({name: _block(name, block) for name, block in given.items()})
    rows = {name: block.shape[0] for name, block in blocks.by_name.items()}
    if len(set(rows.values())) > 1:
        raise DataError(f"all blocks must have the same number of rows, got {rows}")
    return blocks


def _from_texts(estimator: Any, X: Any, *, reset: bool) -> Any:
    """Texts in a list, a series or an array [N] as a frame, if all columns are read as words; others unchanged."""
    listed = isinstance(X, list | tuple) and len(X) > 0 and all(x is None or isinstance(x, str) for x in X)
    if not (listed or len(getattr(X, "shape", ())) == 1) or vectorizer_of(estimator.likelihoods) is None:
        return X
    name = "text" if reset else estimator.schema_.names[0]
    return pd.DataFrame({name: np.asarray(X, object)})


def _from_named(estimator: Any, X: Any, *, reset: bool) -> Any:
    """Dicts, Series and named tuples, or one of them, as a frame with the columns of the fit; other rows unchanged."""
    one = None if reset else _by_name(X)
    rows: list[Any] = [one] if one is not None else [*map(_by_name, X)] if isinstance(X, list | tuple) else [None]
    if None in rows:
        return X
    if reset:
        return pd.DataFrame(rows)
    if not estimator.schema_.named:
        if isinstance(X, Mapping) or any(isinstance(row, Mapping) for row in X):
            raise DataError("the model was fitted to an array, whose columns have no names: give an array, not dicts")
        return X if rows else np.empty((0, estimator.n_features_in_))
    for row in rows:
        estimator.schema_.require([*row])
    names = estimator.schema_.names
    return pd.DataFrame(rows, columns=[*names, *dict.fromkeys(n for row in rows for n in row if n not in names)])


def _by_name(row: Any) -> dict[str, Any] | None:
    """A row by the names of its cells; None if they have no names."""
    row = row._asdict() if hasattr(row, "_asdict") else row
    named = isinstance(row, Mapping) or (isinstance(row, pd.Series) and {*map(type, row.index)} == {str})
    named = named and not issparse(row)  # a matrix by keys is a dict
    return {str(name): cell for name, cell in row.items()} if named else None


def _array(estimator: Any, X: Any, *, reset: bool) -> Any:
    refuse_words(estimator.likelihoods)
    if issparse(X) and isinstance(estimator.likelihoods, str) and estimator.likelihoods == AUTO:
        raise TypeError(
            "X is sparse: choose likelihoods='bernoulli' if it matters whether a word occurs, or "
            "likelihoods='multinomial' if it matters how often; for two columns of numbers after them "
            "likelihoods={'*': 'multinomial', range(-2, 0): 'normal'}; a ColumnTransformer with "
            "sparse_threshold=0 gives an array, whose likelihoods are inferred"
        )
    X = _numbers(X)
    checks = {"dtype": "numeric", "ensure_all_finite": False, "ensure_min_samples": reset}
    sparse = SPARSE_FORMATS if takes_sparse(estimator.likelihoods) else False
    plain = _is_plain(X, 2) and X.size > 0
    # scikit-learn's tags take longer than the prediction of a row
    if reset or not plain or hasattr(estimator, "feature_names_in_") or X.shape[1] != estimator.n_features_in_:
        X = validate_data(estimator, X, reset=reset, skip_check_array=plain, accept_sparse=sparse, **checks)
    if takes_counts(estimator) and X.shape[0]:
        validation.check_non_negative(X, type(estimator).__name__)
    return X


def _numbers(X: Any) -> Any:
    """An array or a list with NaN for missing cells; DataError for text in it."""
    X = fill_missing(X)
    cells = X.flat if isinstance(X, np.ndarray) and X.dtype.kind in "OUT" else ()
    texts = ((n, str(cell)) for n, cell in enumerate(cells) if isinstance(cell, str) and not reads_as_number(cell))
    place, text = next(texts, (0, None))
    if text is not None:
        row, column = divmod(place, X.shape[-1])
        raise DataError(
            f"X is an array with the text {text!r} in row {row}, column {column}, which is no number: convert your "
            "data to numeric codes 0, 1, ..., or give a data frame, such as pandas.DataFrame(X), whose columns of text "
            "are categories"
        )
    return X


def _columns_by_block(X: Any, model: NaiveBayes) -> dict[str, Any]:
    """The columns of an array or a frame by block, which they fill in the model's order."""
    widths = [model.columns[block] for block in model.families]
    named, frame = listing(list(model.families)), as_frame(X)
    if None in widths:
        raise DataError(f"the model's blocks have no fixed numbers of columns: give a dict of the blocks {named}")
    X = np.asarray(X) if frame is None and not issparse(X) else X
    ends = np.cumsum([0, *widths]).tolist()
    if np.ndim(X) != 2 or X.shape[1] != ends[-1]:
        raise DataError(
            f"X has the shape {np.shape(X)}, and the model's blocks {named} have "
            f"{', '.join(map(str, widths))} columns: give them side by side, {ends[-1]} columns, or a dict by block"
        )
    places = [range(*pair) for pair in pairwise(ends)]
    columns = [frame[:, [*place]].to_native() if frame is not None else X[:, place] for place in places]
    return dict(zip(model.families, columns, strict=True))


def _block(name: Any, given: Any) -> Any:
    if len(getattr(given, "shape", ())) != 2:
        raise DataError(f"block '{name}' must be an array [N, D], a sparse matrix or a data frame: give x[:, None]")
    given = _numbers(given)
    frame = as_frame(given)
    checks: dict[str, Any] = {"dtype": "numeric", "ensure_all_finite": False, "ensure_min_samples": 0}
    return check_array(given, accept_sparse=SPARSE_FORMATS, **checks) if frame is None else frame


def _is_plain(x: Any, ndim: int) -> bool:
    """Whether x is a plain numeric array, for which scikit-learn's slower validation is unnecessary."""
    return type(x) is np.ndarray and x.ndim == ndim and x.dtype.kind in "biuf"
