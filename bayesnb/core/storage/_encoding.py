"""Convert results to JSON and arrays, and back: only names and numbers, so reading a file runs no code from it.

A node is encoded as the name and the fields of its class, an array as the key of a tensor. Allowed classes are those
of ``STORED``, all families defined so far, and NumPyro's distributions, which may be priors of a model.
"""

from __future__ import annotations

import inspect
import typing
from collections.abc import Mapping
from functools import cache
from types import UnionType
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import numpyro.distributions as dist
from numpyro.distributions.transforms import AffineTransform

from bayesnb.compute.arrays._placement import allow_promotion, fields_of
from bayesnb.core.families import Family
from bayesnb.core.families.parts._links import TRANSFORMS, ChangedDistribution, Part, Positions, name_of
from bayesnb.core.families.parts._statistics import Statistics
from bayesnb.core.model._naive_bayes import NaiveBayes
from bayesnb.core.model._spelling import Cells, Site, Spelling
from bayesnb.core.results._classifier import Posterior
from bayesnb.core.storage._kinds import Kind, find_kind, kind_of
from bayesnb.core.storage._saved_results import kept_beside

SPELLED = (Spelling, Site, Part, Cells, Positions)
"""How a recognised model shows its parameters: names, axes, and links from a fixed list."""

MODEL_FIELDS = (
    "families", "single", "num_classes", "class_concentration", "class_probs", "priors", "columns", "spelling"
)  # fmt: skip

TRANSFORMED = {"transformed": dist.TransformedDistribution, "changed": ChangedDistribution}
"""Distributions that are another one, changed by links."""

Arrays = dict[str, np.ndarray[Any, Any]]


def encode(value: Any, arrays: Arrays) -> Any:
    """The value as JSON; its arrays are added to ``arrays``. ValueError if it is of a type that cannot be saved."""
    if value is None or type(value) in (bool, int, float, str):
        return value
    if isinstance(value, np.str_):
        return str(value)
    if isinstance(value, np.ndarray | np.generic) and value.dtype.kind in "mM":
        raise ValueError("it contains dates: convert them to text or numbers")
    if isinstance(value, np.ndarray) and value.dtype.kind in "UO" and value.ndim == 1:
        return {"labels": [value.dtype.str, [encode(label, arrays) for label in value.tolist()]]}
    if isinstance(value, np.ndarray | np.generic | jax.Array):
        # an estimator and its fit have the same statistics
        key = next((key for key, array in arrays.items() if array is value), str(len(arrays)))
        arrays[key] = np.asarray(value)
        kind = "jax" if isinstance(value, jax.Array) else "number" if isinstance(value, np.generic) else "array"
        return {kind: key}
    if isinstance(value, SPELLED):
        content = value.values if isinstance(value, Positions) else tuple(value)
        return {"spelling": [type(value).__name__, encode(content, arrays)]}
    if isinstance(value, tuple | list):
        plain = {*map(type, value)} <= {str, float}  # as a million categories are
        return {type(value).__name__: [*value] if plain else [encode(part, arrays) for part in value]}
    if isinstance(value, frozenset):
        return {"frozenset": [encode(part, arrays) for part in sorted(value)]}
    if type(value) is range:
        return {"range": [value.start, value.stop, value.step]}
    if isinstance(value, Mapping):
        kind = "dict" if all(isinstance(key, str) for key in value) else "mapping"  # by labels, or by positions
        return {kind: [[encode(key, arrays), encode(part, arrays)] for key, part in value.items()]}
    own = kind_of(value) or _family_kind(type(value).__name__)
    if own and own.write:
        parts = own.write(value)
        return {own.name: [encode(part, arrays) for part in parts] if type(parts) is list else encode(parts, arrays)}
    if own and own.type is (cls := type(value)):
        causes = {n: getattr(value, n) for n in _fields_of(cls) if n not in own.effects} | kept_beside(value)
        stored = {n: part for n, part in causes.items() if not (hasattr(cls, n) and part is getattr(cls, n))}
        return {"node": [own.name, {name: encode(part, arrays) for name, part in stored.items()}]}
    for kind, law in TRANSFORMED.items():
        if type(value) is law:
            changes = [encode(name_of(transform), arrays) for transform in value.transforms]
            return {kind: [encode(value.base_dist, arrays), changes]}
    if isinstance(value, dist.Distribution) and getattr(dist, type(value).__name__, None) is type(value):
        return {"distribution": [type(value).__name__, encode(_arguments(value), arrays)]}
    raise ValueError(f"a {type(value).__name__} cannot be saved: give its content as numbers, text or a numpy array")


def decode(code: Any, arrays: Arrays) -> Any:
    """The inverse of ``encode``; ValueError, KeyError or TypeError if ``encode`` cannot have written it."""
    if not isinstance(code, dict):
        return code
    if len(code) != 1:
        raise ValueError(f"expected one kind of value, got {list(code)}")
    ((kind, content),) = code.items()
    if kind in ("jax", "number", "array") and content not in arrays:
        raise ValueError(f"the array {content!r} is missing")
    match kind:
        case "jax":
            with jax.enable_x64(True):  # keep float64, whatever the current setting
                return jnp.asarray(arrays[content])
        case "number":
            return arrays[content][()]
        case "array":
            return arrays[content]
        case "tuple":
            return tuple(_decode_each(content, arrays))
        case "list":
            return _decode_each(content, arrays)
        case "dict" | "mapping":
            return {decode(key, arrays): decode(part, arrays) for key, part in content}
        case "frozenset":
            return frozenset(decode(part, arrays) for part in content)
        case "range":
            return range(*content)
        case "node":
            return _node(content[0], {name: decode(part, arrays) for name, part in content[1].items()})
        case "labels":
            return np.array([decode(label, arrays) for label in content[1]], dtype=np.dtype(content[0]))
        case "spelling":
            parts = decode(content[1], arrays)
            spelled: Any = {cls.__name__: cls for cls in SPELLED}[content[0]]
            return spelled(*parts) if isinstance(parts, tuple) else spelled(parts)
        case "distribution":
            return _distribution(content[0], decode(content[1], arrays))
        case "transformed" | "changed":
            base, *changes = (decode(code, arrays) for code in (content[0], *content[1]))
            known = [TRANSFORMS[c] if isinstance(c, str) else AffineTransform(*c) for c in changes]
            return TRANSFORMED[kind](base, known)
    if (other := find_kind(kind)) is not None and other.read is not None:
        return other.read(*(decode(part, arrays) for part in (content if isinstance(content, list) else [content])))
    raise ValueError(f"a value has the unknown kind {kind!r}")


def _decode_each(content: list[Any], arrays: Arrays) -> list[Any]:
    return [decode(part, arrays) for part in content] if dict in {*map(type, content)} else content


def _family_kind(name: str) -> Kind | None:
    """The kind of a defined family, or of its statistics; None for any other name."""
    statistics = [getattr(family, "statistics_type", None) for family in Family.known.values()]
    cls = (Family.known | {cls.__name__: cls for cls in statistics if cls is not None}).get(name)
    return None if cls is None else Kind(name, cls)


def _fields_of(cls: Any) -> list[str]:
    return list(MODEL_FIELDS) if cls is NaiveBayes else [field.name for field in fields_of(cls)]


def _node(name: str, fields: dict[str, Any]) -> Any:
    """A node with these fields; those that have their defaults may be left out."""
    kind = find_kind(name) or _family_kind(name)
    if kind is None or kind.read is not None:
        raise ValueError(f"{name!r} is not a part of a result; define a family of your own before loading a fit of it")
    cls = kind.type
    if name == "Views":
        return cls(*fields["families"])
    names, absent = _fields_of(cls), dict.fromkeys(kind.effects)
    beside = {"class_probs"} if issubclass(cls, Posterior) else set()
    if not {one for one in names if not hasattr(cls, one)} - {*absent} <= set(fields) <= {*names, *beside}:
        raise ValueError(f"a {name} has the fields {', '.join(names)}, got {', '.join(fields)}")
    # skip __init__: fields of a checked object may have types and shapes that it refuses from users
    node = object.__new__(cls)
    node.__dict__.update({one: getattr(cls, one) for one in names if hasattr(cls, one)} | absent | fields)
    if not issubclass(cls, Family | Statistics):  # which check their own, and may be a user's
        require_types(name, cls, fields)
    return node


def require_types(name: str, cls: Any, fields: dict[str, Any]) -> None:
    """Raise ValueError unless the fields have the types that the class declares."""
    declared = _declared_types(cls)
    for field, value in fields.items():
        if not _is_of(value, declared.get(field, Any)):
            raise ValueError(f"{field} of a {name} has the wrong type, {type(value).__name__}")


@cache
def _declared_types(cls: Any) -> dict[str, Any]:
    return typing.get_type_hints(cls, localns={"Family": Family})  # which columns import for type checkers only


def _is_of(value: Any, kind: Any) -> bool:
    """Whether a value has an annotated type, as have the values of a dict and the parts of a tuple."""
    origin, parts = typing.get_origin(kind) or kind, typing.get_args(kind)
    if kind is Any or origin is typing.Literal:
        return True
    if origin in (np.ndarray, jax.Array):
        return isinstance(value, np.ndarray | np.generic | jax.Array)
    if origin is UnionType:
        return any(_is_of(value, part) for part in parts)
    if origin is tuple:
        parts = parts[:1] * len(value) if parts[-1] is Ellipsis and isinstance(value, tuple) else parts
        return isinstance(value, tuple) and len(value) == len(parts) and all(map(_is_of, value, parts))
    if issubclass(origin, Mapping):
        return isinstance(value, dict) and all(
            _is_of(key, str) and _is_of(part, parts[1]) for key, part in value.items()
        )
    return isinstance(value, int | float if origin is float else origin)


def _arguments(distribution: dist.Distribution) -> dict[str, Any]:
    parameters = inspect.signature(type(distribution).__init__).parameters
    names = [name for name in parameters if name not in ("self", "validate_args")]
    hidden = [name for name in names if not hasattr(distribution, name)]
    if hidden:
        raise ValueError(f"the distribution {type(distribution).__name__} has no attribute for its {hidden[0]}")
    return {name: getattr(distribution, name) for name in names}


def _distribution(name: str, arguments: dict[str, Any]) -> dist.Distribution:
    cls = getattr(dist, name, None)
    if not (inspect.isclass(cls) and issubclass(cls, dist.Distribution)):
        raise ValueError(f"{name!r} is not a NumPyro distribution")
    with allow_promotion():
        if "validate_args" in inspect.signature(cls.__init__).parameters:
            cls(**arguments | {"validate_args": True})
        return cls(**arguments)
