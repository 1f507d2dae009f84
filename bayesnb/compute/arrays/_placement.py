"""Where numbers live: numpy arrays on the host, JAX arrays on a device, or tracers inside a transformation.

numpy in, numpy out; JAX in, JAX out. Host work is done in float64 whatever JAX's own setting, device work in JAX's
default precision. The whole package uses this module to distinguish them.

A masked cell of X is missing, and a masked cell of anything else is refused. JAX's promotion of dtypes and ranks, and
meshes with explicit axes, are settings that users may have changed and our formulas must not see.

A pytree here is a frozen dataclass whose fields are its leaves, or static if they are declared so.
"""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import wraps
from numbers import Real
from types import ModuleType
from typing import Any, TypeVar, cast, dataclass_transform

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import AxisType, Mesh, NamedSharding, PartitionSpec, reshard, use_abstract_mesh

from bayesnb.compute.jaxpr_numpy import is_key

Array = Any
"""A numpy or a JAX array."""

Function = TypeVar("Function", bound=Callable[..., Any])
T = TypeVar("T")


def on_host(*trees: Any) -> bool:
    """True if every leaf is a numpy array or a Python number; False if one is a JAX array or a tracer."""
    # a loop, as a generator is entered for each leaf; to check numpy's arrays for JAX's classes would take long
    for leaf in jax.tree.leaves(trees):  # noqa: SIM110
        if type(leaf) is not np.ndarray and isinstance(leaf, jax.Array):
            return False
    return True


def is_traced(*trees: Any) -> bool:
    """True if a leaf is a tracer: its shape is known, but not its values."""
    for leaf in jax.tree.leaves(trees):  # noqa: SIM110
        if type(leaf) is not np.ndarray and isinstance(leaf, jax.core.Tracer):
            return True
    return False


def known(value: Any) -> np.ndarray[Any, Any] | None:
    """The numbers as a numpy array, or None if they are traced: a check of values then has nothing to check."""
    return None if is_traced(value) else np.asarray(value)


def at_once_unless_traced(*trees: Any) -> AbstractContextManager[None]:
    """A context in which known arrays are computed with at once, inside of a user's ``jit``, too."""
    return nullcontext() if is_traced(*trees) else jax.core.eval_context()


def namespace(x: Array) -> ModuleType:
    """The module, numpy or jax.numpy, whose functions work on ``x``."""
    return jnp if isinstance(x, jax.Array) else np


def as_array(x: Any, name: str = "an argument") -> Array:
    """``x`` itself if it is a JAX array, else ``x`` as a numpy array of a dtype that JAX has; no cell may be masked."""
    if type(x) is np.ndarray:
        return native(x)
    if not isinstance(x, jax.Array):
        x = without_mask(name, x)
        try:
            return native(np.asarray(x))
        except ValueError as error:
            raise ValueError(
                f"an array or rows of one length are expected, got a {type(x).__name__}: {error}"
            ) from None
    placed = None if is_traced(x) else _explicit(x)
    if placed is None:
        return x
    # without explicit axes XLA decides how results are sharded, not each operation
    with jax.core.eval_context():
        return jax.device_put(x, NamedSharding(Mesh(placed.mesh.devices, placed.mesh.axis_names), placed.spec))


def is_sparse(x: Any) -> bool:
    """True for a scipy sparse matrix. Never imports scipy.sparse (.1 s): if it is not loaded, x cannot be one."""
    if type(x) is np.ndarray or "scipy.sparse" not in sys.modules:
        return False
    return bool(sys.modules["scipy.sparse"].issparse(x))


def native(x: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """The array in this machine's byte order; half precision as single, and more than double as double."""
    kind = x.dtype
    if kind.kind == "f" and kind.itemsize not in (4, 8):
        return x.astype(np.float32 if kind.itemsize == 2 else np.float64)
    # a compiled JAX function reads the bytes in native order, whatever the dtype's order is
    return x if kind.isnative else x.astype(kind.newbyteorder("="))


def to_host(tree: Any) -> Any:
    """The same pytree with numpy leaves, as are rows in a list of lists; masked arrays keep their masks."""
    return jax.tree.map(
        lambda a: a if is_sparse(a) else as_numpy(a),
        tree,
        is_leaf=lambda a: isinstance(a, list) and bool(a) and isinstance(a[0], list | tuple),
    )


def to_double(tree: Any) -> Any:
    """The same pytree with numpy leaves, floating ones in float64; as it is if values are traced."""
    if is_traced(tree):
        return tree
    return jax.tree.map(
        lambda a: a.astype(np.promote_types(a.dtype, np.float64)) if a.dtype.kind == "f" else a, to_host(tree)
    )


def fill_masked(x: Any) -> Any:
    """X with masked cells replaced by NaN, in its own dtype if that has NaN; X itself if it is not a masked array."""
    masked = _masked_array(x)
    if masked is None:
        return x
    if not np.ma.is_masked(masked):
        return masked.data
    kind = masked.dtype if masked.dtype.kind == "f" else np.float64 if masked.dtype.kind in "iub" else object
    return masked.astype(kind).filled(np.nan)


def fill_missing(x: Any) -> Any:
    """As ``fill_masked``, and rows of objects with NaN for None and pandas' NA; in float64 if all are numbers."""
    x = fill_masked(x)
    cells = as_array(x) if isinstance(x, list | tuple) else x
    if not isinstance(cells, np.ndarray) or cells.dtype.kind not in "OUST" or cells.ndim != 2:
        return x
    import pandas as pd  # which other arrays do not wait for

    filled = np.where(pd.isna(cells), np.nan, cells) if cells.dtype == object else cells
    return filled.astype(np.float64) if all(isinstance(cell, Real) for cell in filled.flat) else filled


def fill_masked_codes(x: Any) -> Any:
    """As ``fill_masked``, but integers and booleans stay integers, with -1 for masked cells."""
    masked = _masked_array(x)
    if masked is None or not np.ma.is_masked(masked) or masked.dtype.kind not in "iub":
        return fill_masked(x)
    return masked.astype(np.int64).filled(-1)


def without_mask(name: str, given: Any) -> Any:
    """``given`` if none of its cells is masked, else a ValueError that names the first row with a masked cell."""
    masked = _masked_array(given)
    if masked is None:
        return given
    if np.ma.is_masked(masked):
        row = int(np.atleast_1d(np.ma.getmaskarray(masked)).nonzero()[0][0])
        raise ValueError(f"{name} is a masked array with a masked cell in row {row}: leave such rows out")
    return masked.data


def as_numpy(x: Any) -> Any:
    """A numpy array, with its mask if it has one; typed random keys, which numpy does not have, themselves."""
    masked = _masked_array(x)
    return x if is_key(x) else np.asarray(x) if masked is None else masked


def _masked_array(x: Any) -> Any:
    """A masked array, that of a list with masked rows, or of a masked tensor of torch; None for anything else."""
    if type(x).__name__ == "MaskedTensor":  # whose mask is True where there is a cell
        return np.ma.MaskedArray(np.asarray(x.get_data()), ~np.asarray(x.get_mask()))
    if isinstance(x, list) and any(isinstance(row, np.ma.MaskedArray) for row in x):
        return np.ma.asarray(x)
    return x if isinstance(x, np.ma.MaskedArray) else None


def read_only(value: Array) -> Array:
    """A numpy array as a read-only copy, because values derived from it are cached."""
    if isinstance(value, np.ndarray):
        value = value.copy()
        value.setflags(write=False)
    return value


def leading_size(tree: Any) -> int:
    """The size of the first axis, which all leaves share."""
    return int(jax.tree.leaves(tree)[0].shape[0])


def padded_size(num_rows: int) -> int:
    """The size that rows are padded to, 32, 128, 512 or a larger power of two, so that few programs are compiled.

    Padding few rows costs little next to the millisecond that each call takes.
    """
    bits = max(num_rows - 1, 31).bit_length()
    return 1 << (bits if bits > 9 else bits + 1 - bits % 2)


def pad_rows(rows: Array, room: int | None = None) -> Array:
    """The rows padded with zeros to ``room`` rows, by default their ``padded_size``."""
    size = rows.shape[0]
    room = padded_size(size) if room is None else room
    if room == size:
        return rows
    out = np.zeros((room, *rows.shape[1:]), rows.dtype)
    out[:size] = rows
    return out


def varying_as(tree: Any, *data: Any) -> Any:
    """The arrays, varying over the axes of a ``shard_map`` over which ``data`` do, to begin a loop over data."""
    nothing = [jnp.atleast_1d(leaf)[:0].sum() for leaf in jax.tree.leaves(data)]  # a sum of none is 0, and varies
    return jax.tree.map(lambda a: a + sum(zero.astype(a.dtype) for zero in nothing), tree)


def promote_dtypes(function: Function) -> Function:
    """A function in which arrays of several dtypes meet, whatever the user's setting."""
    promoting: Any = jax.numpy_dtype_promotion("standard")(function)
    return cast(Function, promoting)


@contextmanager
def allow_promotion() -> Iterator[None]:
    """A context for densities and draws by NumPyro, whose distributions promote ranks and dtypes."""
    with jax.numpy_rank_promotion("allow"), jax.numpy_dtype_promotion("standard"):
        yield


def with_automatic_axes(function: Function, *, by_rows: bool = False) -> Function:
    """The function of rows, its second argument; ``by_rows`` says that what it returns is sharded as the rows are.

    With explicit axes each gather, scatter and product would need to be told the sharding of its result.
    """

    @wraps(function)
    def call(*args: Any, **options: Any) -> Any:
        placed = _find_explicit(*args[1:], *options.values(), *args[:1])
        if placed is None:
            return function(*args, **options)
        mesh = placed.mesh.abstract_mesh
        with use_abstract_mesh(mesh.update_axis_types(dict.fromkeys(mesh.explicit_axes, AxisType.Auto))):
            args, options = _place((args, options), PartitionSpec())
            found = function(*args, **options)
        return _place(found, NamedSharding(placed.mesh, PartitionSpec(*placed.spec[:by_rows])))

    return cast(Function, call)


def _find_explicit(*trees: Any) -> NamedSharding | None:
    for tree in trees:
        for leaf in () if type(tree) in (np.ndarray, list) else jax.tree.leaves(tree):
            if type(leaf) is not np.ndarray and isinstance(leaf, jax.Array) and (placed := _explicit(leaf)):
                return placed
    return None


def _explicit(leaf: jax.Array) -> NamedSharding | None:
    """The sharding of an array on a mesh with explicit axes."""
    placed: Any = jax.typeof(leaf).sharding if isinstance(leaf, jax.core.Tracer) else leaf.sharding
    return placed if isinstance(placed, NamedSharding) and AxisType.Explicit in placed.mesh.axis_types else None


def _place(tree: Any, sharding: Any) -> Any:
    return jax.tree.map(lambda leaf: reshard(leaf, sharding) if isinstance(leaf, jax.Array) else leaf, tree)


def fields_of(node: Any) -> tuple[dataclasses.Field[Any], ...]:
    """The fields of a node or its class; the type checker accepts classes that are not dataclasses."""
    return dataclasses.fields(node)


@dataclass_transform(frozen_default=True, eq_default=False, field_specifiers=(dataclasses.field,))
def pytree(cls: type[T]) -> type[T]:
    """Makes a class a frozen dataclass and a pytree.

    Fields with ``metadata={"static": True}`` are part of its structure.
    """
    cls = dataclasses.dataclass(frozen=True, eq=False, repr=False)(cls)
    fields = fields_of(cls)
    static = [f.name for f in fields if f.metadata.get("static")]
    leaves = [f.name for f in fields if not f.metadata.get("static")]
    keys, names = [jax.tree_util.GetAttrKey(name) for name in leaves], [*leaves, *static]

    def flatten(node: T) -> tuple[list[Any], tuple[Any, ...]]:
        field = node.__getattribute__
        return [*map(field, leaves)], (*map(field, static),)

    def flatten_with_keys(node: T) -> tuple[list[Any], tuple[Any, ...]]:
        children, aux = flatten(node)
        return list(zip(keys, children, strict=True)), aux

    def unflatten(aux: tuple[Any, ...], children: Iterable[Any]) -> T:
        # no __init__: leaves may be tracers or placeholders, on which checks would fail
        node = object.__new__(cls)
        node.__dict__.update(zip(names, (*children, *aux), strict=True))
        return node

    jax.tree_util.register_pytree_with_keys(cls, flatten_with_keys, unflatten, flatten)
    return cls


class Node:
    """A base class with a readable repr: arrays shown by their shapes, fields at their defaults left out."""

    def __repr__(self) -> str:
        shown = []
        for field in fields_of(self):
            value = getattr(self, field.name)
            # a default that was saved and loaded is another object
            is_default = isinstance(value, str | bool | int | float | tuple) and value == field.default
            if value is not field.default and not is_default:
                shown.append(f"{field.name}={short_repr(value)}")
        return f"{type(self).__name__}({', '.join(shown)})"


def short_repr(value: Any) -> str:
    """A number as itself, an array by its shape, containers by their parts."""
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{key!r}: {short_repr(v)}" for key, v in value.items()) + "}"
    if isinstance(value, np.ndarray | np.generic | jax.Array):
        if value.shape or is_traced(value):
            return f"array{list(value.shape)}"
        if jnp.issubdtype(value.dtype, jax.dtypes.prng_key):
            return "key"
        return f"{float(value):g}" if jnp.isrealobj(value) and value.dtype.kind not in "OUSMmV" else repr(value)
    if hasattr(value, "arg_constraints"):  # a NumPyro distribution, not imported here, as its import is slow
        given = (f"{name}={short_repr(getattr(value, name))}" for name in value.arg_constraints)
        return f"{type(value).__name__}({', '.join(given)})"
    return repr(value)
