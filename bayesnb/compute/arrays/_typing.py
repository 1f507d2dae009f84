"""The types of public signatures: what users give, and what they get. An editor shows them, a type checker reads them.

Inside the package ``placement.Array`` stands for arrays that are not checked: most of its code serves numpy's and JAX's
alike, and few functions of either take both.

Example:
    >>> import bayesnb as nb
    >>> def class_probs(X: nb.Rows, y: nb.LabelsLike) -> nb.Array:
    ...     return nb.fit_mle(nb.NaiveBayes(nb.Bernoulli()), X, y).params["class_probs"]
    >>> class_probs([[0], [1], [1]], [0, 1, 1]).round(2).tolist()
    [0.33, 0.67]
    >>> def mean_proba(clf: nb.NaiveBayesClassifier, X: nb.Table) -> nb.Array:
    ...     return clf.predict_proba(X).mean(axis=0)
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field
from typing import Any, ClassVar, Protocol, Self, TypeAlias, TypeVar

import jax
import numpy as np
import numpy.typing as npt

from bayesnb.compute.arrays._placement import Node, pytree

__all__ = (
    "Array",
    "ArrayLike",
    "Block",
    "ByColumn",
    "ByLabel",
    "DataFrame",
    "Estimator",
    "FeatureNames",
    "LabelsLike",
    "Rows",
    "SparseMatrix",
    "Table",
    "Vectorizer",
)

T = TypeVar("T")

Array: TypeAlias = np.ndarray[Any, Any] | jax.Array
"""A numpy array, where numpy arrays were given, or a JAX array."""

ArrayLike: TypeAlias = npt.ArrayLike | jax.Array
"""A numpy or JAX array, traced or not, numbers, nested lists of them, and whatever numpy reads as an array."""


class SparseMatrix(Protocol):
    """A sparse matrix of scipy, or JAX's BCOO; the untyped packages are not imported for it."""

    @property
    def shape(self) -> Any:
        """[N, D]."""

    def todense(self) -> Any:
        """The same numbers in a dense array."""


class DataFrame(Protocol):
    """A data frame of pandas or polars, or a table of pyarrow, recognised by the same attributes as in narwhals."""

    @property
    def columns(self) -> Any:
        """The columns, or their names."""

    def join(self, *args: Any, **kwargs: Any) -> Any:
        """Rows of two frames side by side."""


class Estimator(Protocol):
    """A fitted classifier of scikit-learn's kind, such as ``NaiveBayesClassifier``, or a pipeline that ends in one."""

    def fit(self, X: Any, y: Any, /) -> Any:
        """Fit rows and labels."""

    def predict(self, X: Any, /) -> Any:
        """The label of each row."""


Block: TypeAlias = ArrayLike | SparseMatrix | DataFrame | tuple[ArrayLike, ArrayLike]
"""The cells of one block, [N, D]; of Binomial, where totals are cells, a pair of them, (successes, totals)."""


@pytree
class ObservedRows(Node):
    """What a ``program`` observes: its ``cells`` by site, NaN where masked, or pairs with totals. It can be indexed."""

    cells: dict[str, Any]
    program: str = field(metadata={"static": True})

    __iter__: ClassVar[None] = None  # else Python would try rows[0], rows[1], ..., which JAX answers without end

    def __getitem__(self, some: Any) -> Self:
        return jax.tree.map(lambda part: part[some], self)


Rows: TypeAlias = Block | Mapping[str, Block] | ObservedRows
"""Rows of numbers: an array-like [N, D], a sparse matrix, a dict of them by block, or what ``model.rows`` gives."""

Table: TypeAlias = Rows | Mapping[str, object] | Sequence[object]
"""Rows as an estimator takes them: a data frame, an array, a list of rows or of dicts, one dict, or blocks of these."""

LabelsLike: TypeAlias = ArrayLike | Sequence[object]
"""Labels [N]: integers, or for an estimator text or other values; or, where a fit takes them, soft labels [N, K]."""


class Vectorizer(Protocol):
    """A fitted transformer that has the names of its columns, such as scikit-learn's ``CountVectorizer``."""

    def get_feature_names_out(self) -> Any:
        """The names of columns [D]."""


FeatureNames: TypeAlias = Iterable[object] | Vectorizer | Mapping[str, Iterable[object] | Vectorizer]
"""D names of columns, or a vectorizer that has them, or a dict of these by block."""

ByLabel: TypeAlias = Mapping[Any, T]
"""Something of each class by its label, a text, number or date: ``Any``, as a ``Mapping`` is invariant in its keys."""

ByColumn: TypeAlias = Mapping[Any, object]
"""Something of each column by its name, a pattern, its position or a range of positions; ``Any`` likewise."""
