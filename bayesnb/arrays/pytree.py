"""Frozen dataclasses that are pytrees, with a readable repr."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping
from typing import Any, TypeVar, dataclass_transform

import jax
import jax.numpy as jnp
import numpy as np

from bayesnb.arrays.placement import is_traced

T = TypeVar("T")


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
    if hasattr(value, "arg_constraints"):  # a NumPyro distribution; its import would slow exported models' start
        given = (f"{name}={short_repr(getattr(value, name))}" for name in value.arg_constraints)
        return f"{type(value).__name__}({', '.join(given)})"
    return repr(value)
