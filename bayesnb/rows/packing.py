"""A block's rows as users give them, and as one array [N, D], or [N, 2 D] of successes and totals."""

from __future__ import annotations

from functools import singledispatch
from typing import Any

import jax.numpy as jnp
import numpy as np

from bayesnb.arrays.placement import Array, namespace
from bayesnb.arrays.sparse import is_sparse
from bayesnb.families import Binomial, Categorical, Multinomial
from bayesnb.families.base import Params
from bayesnb.families.parts.end_to_end import codes_of_one_hot
from bayesnb.families.tied_columns import TiedColumns


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
def columns_behind(family: Any, statistics: Any) -> int:
    """The number of columns D of the rows that these are the statistics of."""
    del family
    return statistics.num_columns


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
columns_of.register(TiedColumns, lambda family, _params: len(family.columns))


@columns_behind.register(TiedColumns)
def _(family: Any, statistics: Any) -> int:
    return len(family.columns) if statistics.num_columns == family.num_groups else statistics.num_columns
