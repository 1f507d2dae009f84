"""Convert results to JSON and arrays, and back: only names and numbers, so reading a file runs no code from it.

A node is encoded as its class's name and its fields, an array as the key of a tensor. Allowed classes are those listed
here, all families defined so far, and NumPyro's distributions, which may be priors of a model.
"""

from __future__ import annotations

import inspect
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import numpyro.distributions as dist

from bayesnb.arrays.pytree import fields_of
from bayesnb.families import Family
from bayesnb.families.parts.statistics import Statistics
from bayesnb.files.storage.saved_estimators import check_estimator
from bayesnb.files.storage.saved_results import check_result
from bayesnb.fits.averaged import AveragedPosterior
from bayesnb.fits.bootstrap import Bootstrap
from bayesnb.fits.em import EMEstimate
from bayesnb.fits.empirical import EmpiricalPosterior
from bayesnb.fits.hierarchical import HierarchicalDraws
from bayesnb.fits.multilabel import MultiLabel
from bayesnb.frames.column_kinds import Column
from bayesnb.frames.schema import ArraySchema, FrameSchema
from bayesnb.model.naive_bayes import NaiveBayes
from bayesnb.results.classifier import PointEstimate, Posterior
from bayesnb.results.draws import Draws
from bayesnb.rows.statistics import ModelStatistics

RESULTS = (
    PointEstimate, EMEstimate, Posterior, EmpiricalPosterior, AveragedPosterior, Draws, HierarchicalDraws, Bootstrap,
    MultiLabel, NaiveBayes, ModelStatistics,
)  # fmt: skip
"""Types that can be saved, besides the estimator."""

SCHEMAS = (FrameSchema, ArraySchema)

NODES = {cls.__name__: cls for cls in (*RESULTS, *SCHEMAS, Column)}


def node_type(name: str) -> Any:
    """The class of a node: one of this package, a defined family or its statistics; None for any other name."""
    if name in NODES:
        return NODES[name]
    statistics = (getattr(family, "statistics_type", None) for family in Family.known.values())
    return Family.known.get(name) or next((cls for cls in statistics if cls is not None and cls.__name__ == name), None)


LEARNED = ("classes_", "schema_", "statistics_", "fit_", "n_features_in_", "feature_names_in_")
"""Attributes of a fitted estimator, besides its parameters; the last only if columns have names."""

MODEL = ("families", "single", "num_classes", "class_concentration", "class_probs", "priors", "columns")
"""The fields of a model."""

Arrays = dict[str, np.ndarray[Any, Any]]


def encode(value: Any, arrays: Arrays) -> Any:
    """Encode a value as JSON; its arrays are added to ``arrays``.

    Raises:
        ValueError: if the value is of a type that cannot be saved.
    """
    if value is None or type(value) in (bool, int, float, str):
        return value
    if isinstance(value, np.str_):
        return str(value)
    if isinstance(value, np.ndarray | np.generic) and value.dtype.kind in "mM":
        raise ValueError("it holds dates: make them text or numbers")
    if isinstance(value, np.ndarray) and value.dtype.kind in "UO" and value.ndim == 1:
        return {"labels": [value.dtype.str, [encode(label, arrays) for label in value.tolist()]]}
    if isinstance(value, np.ndarray | np.generic | jax.Array):
        key = str(len(arrays))
        arrays[key] = np.asarray(value)
        kind = "jax" if isinstance(value, jax.Array) else "number" if isinstance(value, np.generic) else "array"
        return {kind: key}
    if isinstance(value, tuple | list):
        return {type(value).__name__: [encode(part, arrays) for part in value]}
    if isinstance(value, dict) and all(isinstance(key, str) for key in value):
        return {"dict": [[key, encode(part, arrays)] for key, part in value.items()]}
    if node_type(type(value).__name__) is type(value):
        parts = {name: encode(getattr(value, name), arrays) for name in _names(type(value))}
        return {"node": [type(value).__name__, parts]}
    if isinstance(value, dist.Distribution) and getattr(dist, type(value).__name__, None) is type(value):
        return {"distribution": [type(value).__name__, encode(_arguments(value), arrays)]}
    if _is_estimator(value):
        learned = {name: getattr(value, name) for name in LEARNED if hasattr(value, name)}
        if "fit_" not in learned:
            raise ValueError("it has not been fitted")
        return {"estimator": [encode(part, arrays) for part in (value.get_params(deep=False), learned)]}
    raise ValueError(f"a {type(value).__name__} cannot be saved: give what it holds as numbers, text or a numpy array")


def is_result(value: Any) -> bool:
    """Whether a value can be saved."""
    return isinstance(value, RESULTS) or _is_estimator(value)


def checked(code: Any, arrays: Arrays) -> Any:
    """Decode a result and check it as strictly as user input.

    Raises:
        ValueError, KeyError, TypeError: if it is not a valid result.
    """
    result = decode(code, arrays)
    if _is_estimator(result):
        check_estimator(result)
    else:
        check_result(result)
    return result


def _is_estimator(value: Any) -> bool:
    # compare names, so that scikit-learn is not imported for this check
    return type(value).__module__ == "bayesnb.sklearn.estimator" and type(value).__name__ == "NaiveBayesClassifier"


def decode(code: Any, arrays: Arrays) -> Any:
    """The inverse of ``encode``.

    Raises:
        ValueError, KeyError, TypeError: if ``encode`` cannot have written it.
    """
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
        case "tuple" | "list":
            parts = [decode(part, arrays) for part in content]
            return tuple(parts) if kind == "tuple" else parts
        case "dict":
            if not all(isinstance(key, str) for key, _ in content):
                raise ValueError(f"names must be text, got {[key for key, _ in content]}")
            return {key: decode(part, arrays) for key, part in content}
        case "node":
            return _node(
                content[0], {name: _field(content[0], name, part, arrays) for name, part in content[1].items()}
            )
        case "labels":
            return np.array([decode(label, arrays) for label in content[1]], dtype=np.dtype(content[0]))
        case "estimator":
            return _estimator(*(decode(part, arrays) for part in content))
        case "distribution":
            return _distribution(content[0], decode(content[1], arrays))
    raise ValueError(f"{kind!r} is no kind of value")


TYPES: dict[str, Any] = {
    "model": NaiveBayes, "prior": NaiveBayes, "specification": NaiveBayes, "posterior": Posterior,
    "estimate": PointEstimate, "fits": (PointEstimate, Posterior), "statistics": ModelStatistics,
    "schema_": SCHEMAS, "statistics_": ModelStatistics, "fit_": RESULTS, "classes_": np.ndarray, "n_features_in_": int,
    "feature_names_in_": np.ndarray,
}  # fmt: skip
"""Required types of fields, by name."""

PARTS: dict[str, Any] = {
    "families": Family, "pooled": Family, "priors": dist.Distribution, "blocks": Statistics,
    "params": np.ndarray | np.generic | jax.Array,
}  # fmt: skip
"""Required types of the values in dict fields, by field name."""


def _names(cls: Any) -> list[str]:
    return list(MODEL) if cls is NaiveBayes else [field.name for field in fields_of(cls)]


class _Unreadable(ValueError):
    """An error whose message already names the field."""


def _field(owner: str, name: str, code: Any, arrays: Arrays) -> Any:
    try:
        return decode(code, arrays)
    except _Unreadable:
        raise
    except Exception as error:  # a malformed header can raise anything
        raise _Unreadable(f"{name} of a {owner} cannot be read: {error}") from error


def _node(name: str, fields: dict[str, Any]) -> Any:
    cls = node_type(name)
    if cls is None:
        raise ValueError(f"{name!r} is no part of a result; a family of your own must be defined before it is loaded")
    names = _names(cls)
    if set(fields) != set(names):
        raise ValueError(f"a {name} has the fields {', '.join(names)}, not {', '.join(fields)}")
    # skip __init__: fields of a checked object may have types and shapes that it refuses from users
    node = object.__new__(cls)
    for field in names:
        parts = fields[field] if field in PARTS else {}
        good = isinstance(fields[field], TYPES.get(field, object)) and isinstance(parts, dict)
        if not good or not all(isinstance(part, PARTS[field]) for part in parts.values()):
            raise ValueError(f"{field} of a {name} has the wrong type, {type(fields[field]).__name__}")
        object.__setattr__(node, field, fields[field])
    return node


def _estimator(params: dict[str, Any], learned: dict[str, Any]) -> Any:
    from bayesnb.sklearn.estimator import NaiveBayesClassifier

    estimator = NaiveBayesClassifier(**params)
    if not set(LEARNED[:-1]) <= set(learned) <= set(LEARNED):
        raise ValueError(f"an estimator has {', '.join(LEARNED)}, not {', '.join(learned)}")
    for name, value in learned.items():
        if not isinstance(value, TYPES[name]):
            raise ValueError(f"{name} of an estimator has the wrong type, {type(value).__name__}")
        setattr(estimator, name, value)
    return estimator


def _arguments(law: dist.Distribution) -> dict[str, Any]:
    names = [name for name in inspect.signature(type(law).__init__).parameters if name not in ("self", "validate_args")]
    hidden = [name for name in names if not hasattr(law, name)]
    if hidden:
        raise ValueError(f"the distribution {type(law).__name__} does not tell its {hidden[0]}")
    return {name: getattr(law, name) for name in names}


def _distribution(name: str, arguments: dict[str, Any]) -> dist.Distribution:
    cls = getattr(dist, name, None)
    if not (inspect.isclass(cls) and issubclass(cls, dist.Distribution)):
        raise ValueError(f"{name!r} is no distribution of NumPyro's")
    parameters = inspect.signature(cls.__init__).parameters
    for argument, value in arguments.items():
        if isinstance(value, str) and not isinstance(parameters[argument].default, str):
            raise ValueError(f"{argument} of the distribution {name} must be a number, got {value!r}")
    with jax.numpy_rank_promotion("allow"):  # NumPyro's own distributions promote ranks
        if "validate_args" in parameters:
            cls(**arguments | {"validate_args": True})
        return cls(**arguments)
