"""Checks of users' rows, made once at the boundary.

Each error states what was expected, what was given, and what to do. Shapes and types are always checked, values only if
they are known: inside a JAX transformation they are not, unless the user's function goes through ``checkify``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial, singledispatch
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from numpyro.distributions.constraints import Constraint

from bayesnb.compute.arrays import _limits as limits
from bayesnb.compute.arrays._cells import bytes_per_row, fill_unused, from_bcoo, is_sparse, observed, part_of, rows_of
from bayesnb.compute.arrays._loops import in_threads, require_jax, row_blocks
from bayesnb.compute.arrays._memory import require_computed
from bayesnb.compute.arrays._own_primitives import checked, refuse
from bayesnb.compute.arrays._placement import (
    Array,
    as_array,
    fill_masked,
    fill_missing,
    is_traced,
    known,
    namespace,
    native,
    on_host,
    promote_dtypes,
    short_repr,
)
from bayesnb.core.families import (
    Binomial,
    Categorical,
    Histogram,
    Likelihood,
    Mapped,
    Multinomial,
    MultivariateNormal,
    Normal,
    OneRate,
    Views,
)
from bayesnb.core.families._base import Family, Params
from bayesnb.core.families._categorical import codes_of_one_hot
from bayesnb.core.families._hyperparameters import values_of
from bayesnb.core.families._mapped import whole
from bayesnb.core.families._views import generative
from bayesnb.core.families.parts._bin_statistics import same_bins
from bayesnb.core.families.parts._support import WIDER, require_whole_rows, single

Columns = Mapping[str, int | None] | None
"""The numbers of columns of a model or a fit by block; None where any number will do."""

DENSE = "x.toarray(), in JAX x.todense()"
"""What to pass instead of a sparse matrix."""


@promote_dtypes
def check_shapes(
    families: Mapping[str, Family], single: bool, X: Any, columns: Columns = None, *, sparse: bool = False
) -> dict[str, Array]:
    """X as a dict of arrays [N, D] by block; scipy's sparse matrices are allowed if ``sparse``."""
    if single:
        if isinstance(X, Mapping):
            raise ValueError(f"the model has one block, so X is an array [N, D], got a dict with {quote(X)}")
        X = {"x": X}
    elif not isinstance(X, Mapping):
        kind = f"an array of shape {X.shape}" if hasattr(X, "shape") else type(X).__name__
        raise ValueError(
            f"the model has the blocks {quote(families)}: X is a dict of arrays by those names, got {kind}"
        )
    if set(X) != set(families):
        raise ValueError(f"the model has the blocks {quote(families)}, X has {quote(X)}: the names must be the same")
    arrays: dict[str, Array] = {}
    for name, family in families.items():
        given = X[name]
        if isinstance(given, list) and len(given) == 2 and np.ndim(given[0]) == 2:
            raise ValueError(f"block {name!r}: a pair (successes, totals) is a tuple of two arrays, got a list")
        parts = given if isinstance(given, tuple) else (given,)
        arrays[name] = pack(family, tuple([_block(family, name, part) for part in parts]), name)
    rows = {name: x.shape[0] for name, x in arrays.items()}
    if len(set(rows.values())) > 1:
        raise ValueError(f"all blocks must have the same number of rows, got {rows}")
    for name, x in arrays.items():
        if is_sparse(x) and not (sparse and on_host(arrays)):
            raise ValueError(f"block {name!r} is a sparse matrix, but an array is needed here: give {DENSE}")
    if not on_host(arrays):
        require_jax()
        arrays = {name: jnp.asarray(x) for name, x in arrays.items()}
    for name, family in families.items():
        found, expected = columns_in(family, arrays[name]), (columns or {}).get(name)
        expected = family.declared_columns if expected is None else expected
        if expected not in (None, found):
            raise ValueError(f"block {name!r} has {found} columns, the model has {expected}")
    return arrays


def count_rows(arrays: Mapping[str, Array]) -> int:
    """The number of rows of checked blocks."""
    return next(iter(arrays.values())).shape[0]


def check_rows(
    families: Mapping[str, Family], single: bool, X: Any, columns: Columns = None, *, sparse: bool = False
) -> dict[str, Array]:
    """As ``check_shapes``, and raises ValueError for cells outside of a family's support."""
    return check_values(families, check_shapes(families, single, X, columns, sparse=sparse))


def check_float32(families: Mapping[str, Family]) -> None:
    """Raises ValueError if JAX computes in float32 and a known hyperparameter, or its square, exceeds its range."""
    if jnp.result_type(float) == np.float32:
        for name, family in families.items():
            check_in_float32(family, name)


def check_values(
    families: Mapping[str, Family], arrays: Mapping[str, Array], weight: Array | None = None, *, fit: bool = False
) -> dict[str, Array]:
    """The arrays; ValueError for cells outside a family's support if the values are known, else by ``checkify``.

    With ``fit``, also for rows to which a family cannot be fitted in closed form. Traced rows that have no ``weight``,
    [N] or [N, K], may hold anything.
    """

    for name, x in arrays.items():
        check = partial(check_cells, families[name], name, fit)
        if on_host(x):
            in_threads(partial(_check_some, check, x), row_blocks(x.shape[0], bytes_per_row(x)))
        else:
            arrays = {**arrays, name: checked(check, x, *([weight] if weight is not None and is_traced(x) else []))}
    return dict(arrays)


def _check_some(check: Callable[..., Array], x: Array, rows: slice) -> None:
    check(part_of(x, rows, order="K"))


def check_cells(family: Family, name: str, fit: bool, x: Array, weight: Array | None = None) -> Array:
    """As ``check_values`` for one block of rows, inside a thread or a trace."""
    cells = x
    if weight is not None:
        cells = fill_unused(x, (weight > 0).reshape(x.shape[0], -1).any(axis=1))
    family.check(cells, name)
    if fit:
        check_fit(family, cells, name)
        if not on_host(cells):
            check_squares(family, cells, name)
    return x


@singledispatch
def check_fit(family: Any, x: Array, block: str) -> None:
    """Raises ValueError for rows that have a likelihood but no closed form in a fit; of tracers by ``refuse``."""
    del family, x, block


@check_fit.register(MultivariateNormal)
def _(family: Any, x: Array, block: str) -> None:
    size, df = x.shape[1], family.df
    if df is not None and not is_traced(df) and not (np.asarray(df) > size - 1).all():
        raise ValueError(f"block {block!r}: df must be above D - 1 = {size - 1}, got {df}")
    missing = "a covariance has no closed form from rows with some cells missing"
    advice = "leave such rows out, make them NaN as a whole, or use Normal (predictions marginalise missing cells)"
    require_whole_rows(x, f"block {block!r}: {missing}; {advice}")


@singledispatch
def check_squares(family: Any, x: Array, block: str) -> None:
    """Raises ValueError for a column of JAX numbers so small that their squares vanish; of tracers by ``refuse``."""
    del family, x, block


@check_squares.register(Normal)
@check_squares.register(MultivariateNormal)
def _(family: Any, x: Array, block: str) -> None:
    if not jnp.issubdtype(x.dtype, jnp.floating):
        return
    least = float(jnp.finfo(jnp.promote_types(x.dtype, jnp.float32)).tiny) ** limits.SQUARABLE
    largest = jnp.where(jnp.isnan(x), 0, abs(x)).max(axis=0, keepdims=True, initial=0)
    what = (
        f"block {block!r}, column {{column}}: a {type(family).__name__} column needs a number above {least:.0e} in size"
    )
    advice = "or all squares vanish: give the column in another unit"
    refuse((largest > 0) & (largest < least), f"{what}, {advice}, or {WIDER}; got {{0}}", largest)


@check_squares.register(Views)
def _(family: Any, x: Array, block: str) -> None:
    for one in family.families:
        check_squares(one, x, block)


check_squares.register(Mapped, lambda one, x, b: one.each(lambda part, own: check_squares(part, own, b), one.cells(x)))


def only_support(family: Family, supports: tuple[Constraint, ...]) -> bool:
    """True if the family only checks that cells are in its support, which is one of these."""
    kind = type(family)
    return (
        kind.check is Family.check
        and check_fit.dispatch(kind) is check_fit.dispatch(object)
        and family.support in supports
    )


@singledispatch
def check_in_float32(family: Any, block: str) -> None:
    """Raises ValueError if float32 cannot hold a known hyperparameter and its square."""
    held = {name: single(value) for name, value in values_of(family).items()}
    try:
        type(family)(**values_of(family, static=True) | held)
    except ValueError as error:
        raise ValueError(f"block {block!r}, {family!r}, in float32: {error}; {WIDER}") from None


@check_in_float32.register(Histogram)
def _(family: Any, block: str) -> None:
    edges = None if family.edges is None else known(family.edges)
    if edges is not None and (np.abs(edges[np.isfinite(edges)]) > 1e17).any():
        raise ValueError(f"block {block!r}: edges must be at most 1e17 in float32; give the column in another unit")


@check_in_float32.register(Views)
def _(family: Any, block: str) -> None:
    for one in family.fitted:
        check_in_float32(one, block)


check_in_float32.register(Mapped, lambda family, block: family.each(lambda part: check_in_float32(part, block)))


def accepts(family: Family, statistics: Any) -> bool:
    """True if the statistics are of this family."""
    return isinstance(statistics, family.statistics_type) and _fit_family(family, statistics)


@singledispatch
def _fit_family(family: Any, statistics: Any) -> bool:
    """Whether statistics of the right type have the family's categories or edges."""
    del family, statistics
    return True


_fit_family.register(Categorical, lambda family, counted: counted.sizes == family.sizes_of(len(counted.sizes)))
_fit_family.register(Likelihood, lambda family, counted: family.frame is None or same_bins(family.frame, counted.frame))
_fit_family.register(OneRate, lambda family, counted: (family.distribution, family.given) == counted.density)
_fit_family.register(Mapped, lambda family, counted: all(family.each(accepts, counted.parts)))
_fit_family.register(Views, lambda family, counted: all(accepts(one, counted.of(one)) for one in family.fitted))


@_fit_family.register(Histogram)
def _(family: Any, statistics: Any) -> bool:
    has_cells = family.cells in (None, np.shape(statistics.counts)[-1])
    return has_cells and (family.atoms is None or same_bins(family.edges, statistics.edges))


def match_statistics(families: Mapping[str, Family], num_classes: int | None, resolved: bool, given: Any) -> None:
    """Raises ValueError unless these statistics match the model in families, classes and (if resolved) columns."""
    blocks = getattr(given, "blocks", {})
    if set(blocks) != set(families) or not all(accepts(family, blocks[name]) for name, family in families.items()):
        raise ValueError(
            f"statistics must be those of the model's blocks, {short_repr(families)}, got {short_repr(given)}"
        )
    if num_classes not in (None, given.num_classes):
        raise ValueError(f"the model has {num_classes} classes, the statistics {given.num_classes}")
    parts = [(name, *part) for name, f in families.items() for part in whole(f, given.blocks[name])] if resolved else []
    for name, family, counted in parts:
        own = generative(family)
        ours, theirs = getattr(own, own.axes[0][0]), jax.tree.leaves(counted)[0]
        if ours.shape != theirs.shape:
            raise ValueError(
                f"block {name!r} has the shape {ours.shape} in the model and {theirs.shape} in the statistics"
            )


def _block(family: Family, name: str, given: Any) -> Array:
    """An array [N, D] of real numbers, or a sparse matrix in CSR format."""
    x = native(given) if type(given) is np.ndarray and given.dtype != object else _read(family, name, given)
    if x.ndim != 2:
        hint = "a single column is x[:, None]" if x.ndim == 1 else "flatten further axes into columns"
        raise ValueError(f"block {name!r} must be an array [N, D], got shape {x.shape}: {hint}")
    if x.dtype.kind in "mM":
        raise ValueError(
            f"block {name!r} holds dates or durations, {x.dtype}: convert them to numbers, such as days since a first "
            "date, or durations / numpy.timedelta64(1, 'D')"
        )
    if not (jnp.issubdtype(x.dtype, jnp.number) or x.dtype == bool) or jnp.issubdtype(x.dtype, jnp.complexfloating):
        raise ValueError(
            f"block {name!r} must hold numbers, got dtype {x.dtype}; encode strings as integer codes "
            "(numpy.unique with return_inverse=True)"
        )
    return x


def _read(family: Family, name: str, x: Any) -> Array:
    """JAX's arrays, masked and sparse ones, lists and tables, as arrays or sparse matrices."""
    require_computed("X", x)
    if not is_sparse(x) and hasattr(x, "todense"):
        if type(x).__name__ != "BCOO" or x.n_dense or x.n_batch or x.ndim != 2 or is_traced(x):
            raise ValueError(
                f"block {name!r} is a {type(x).__name__}: give a scipy.sparse matrix, JAX's BCOO [N, D] outside of "
                "transformations and without batch or dense axes, or x.todense()"
            )
        x = from_bcoo(x)
    if is_sparse(x) and not family.takes_sparse:
        raise ValueError(
            f"block {name!r} is a sparse matrix, which {type(family).__name__} does not support: give {DENSE}"
        )
    try:
        x = rows_of(x) if is_sparse(x) else fill_missing(as_array(fill_masked(x)))
    except ValueError as error:
        why = " is an inconsistent sparse matrix" * is_sparse(x)
        raise ValueError(f"block {name!r}{why}: {error}") from error
    if is_sparse(x) and observed(x.data) is not None:
        raise ValueError(
            f"block {name!r} is a sparse matrix that contains NaN, but a sparse matrix has no missing cells: "
            "replace NaN by zeros"
        )
    return x


def quote(mapping: Mapping[str, Any]) -> str:
    """The names in a dict, each in quotes."""
    return ", ".join(repr(name) for name in mapping) or "nothing"


@singledispatch
def pack(family: Any, parts: tuple[Array, ...], block: str) -> Array:
    """The block's rows as one array, from the arrays that the user gave for it."""
    del family
    if len(parts) != 1:
        raise ValueError(f"block {block!r} must be one array [N, D], got a tuple of {len(parts)}")
    return parts[0]


@singledispatch
def columns_in(family: Any, x: Array) -> int:
    """The number of columns D of packed rows."""
    del family
    return x.shape[1]


@singledispatch
def columns_of(family: Any, params: Params) -> int:
    """The number of columns D of the parameters, of which by default the first is [K, D, ...]."""
    del family
    return next(iter(params.values())).shape[1]


@singledispatch
def totals_vary(family: Any) -> bool:
    """True if each row, or each of its cells, has a total of its own, which generating rows requires."""
    del family
    return False


def num_parts(family: Any) -> int:
    """How many arrays make up the block's rows: 2 for a pair (successes, totals)."""
    return 2 if totals_vary(family) and not family.one_feature else 1


@pack.register(Binomial)
def _(family: Any, parts: tuple[Array, ...], block: str) -> Array:
    if len(parts) != num_parts(family):
        wanted = "a pair (successes, totals)" if family.total_count is None else "one array, as total_count is given"
        raise ValueError(f"block {block!r} must be {wanted}, got {len(parts)} array{'s' * (len(parts) > 1)}")
    xp = jnp if any(namespace(part) is jnp for part in parts) else np
    if xp is jnp:  # sums of integers could exceed the largest int32
        parts = tuple(jnp.asarray(part, jnp.result_type(float)) for part in parts)
    x = parts[0]
    totals = parts[1] if len(parts) == 2 else xp.asarray(family.total_count).reshape(1, -1)
    if len(parts) == 2 and totals.shape != x.shape:
        raise ValueError(f"block {block!r}: successes and totals must have one shape, got {x.shape} and {totals.shape}")
    if totals.shape[1] not in (1, x.shape[1]):
        raise ValueError(f"block {block!r} has {x.shape[1]} columns, total_count is given for {totals.shape[1]}")
    missing = xp.isnan(x) | xp.isnan(totals)
    return xp.concatenate([xp.where(missing, 0, x), xp.where(missing, 0, totals)], axis=1)


columns_in.register(Binomial, lambda _, x: x.shape[1] // 2)

totals_vary.register(Binomial, lambda family: family.total_count is None)


@pack.register(Categorical)
def _(family: Any, parts: tuple[Array, ...], block: str) -> Array:
    x = pack.dispatch(object)(family, parts, block)
    return codes_of_one_hot(x, family.num_categories, block) if is_sparse(x) else x


columns_of.register(Categorical, lambda _, params: params["probs"].shape[1] if "probs" in params else len(params))

totals_vary.register(Multinomial, lambda _: True)
