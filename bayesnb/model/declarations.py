"""Checks of what a model declares before any data: its blocks, their names, class prior and number of classes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import jax.numpy as jnp
import numpy as np

from bayesnb.arrays.placement import as_array
from bayesnb.arrays.pytree import short_repr
from bayesnb.families.base import Family
from bayesnb.families.normal_scores import require_no_view
from bayesnb.families.parts.support import WIDER, require_positive, single
from bayesnb.rows import arguments, checks


def check_families(families: Mapping[str, Any]) -> None:
    """Raise ValueError unless these are families by name, at least one, with a name for every part of the program."""
    if not families:
        raise ValueError("a model needs at least one block: a family, or a dict of families by name")
    for name, family in families.items():
        if not isinstance(name, str) or not name.isidentifier():
            raise ValueError(f"a block's name must be a Python identifier, got {name!r}")
        require_no_view(family)
        if not isinstance(family, Family):
            hint = f"{family.__name__}(...)" if isinstance(family, type) else "nb.Normal()"
            raise ValueError(f"block {name!r} must be a family such as {hint}, got {family!r}")
    parts = [f"{block}_{part}" for block, f in families.items() for part in (*f.sites, "classes", "features")]
    names = ["label", "rows", "class_probs", *families, *parts]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise ValueError(f"two parts of the program would have the name {twice[0]!r}: rename a block")


def check_concentration(given: Any) -> Any:
    """The concentration of the class probabilities, an array if it is given by class.

    Raises:
        ValueError: for anything but positive numbers.
    """
    value = as_array(given) if isinstance(given, list | tuple | np.ndarray) else given
    if value is None or getattr(value, "ndim", 0) > 1 or getattr(value, "size", 1) == 0:
        raise ValueError(f"NaiveBayes: class_concentration must be a number, or one per class, got {short_repr(given)}")
    require_positive("NaiveBayes", class_concentration=value)
    return value


def check_model_float32(families: Mapping[str, Family], class_concentration: Any) -> None:
    """``check_float32`` of ``rows.checks`` for a whole model."""
    checks.check_float32(families)
    if jnp.result_type(float) == np.float32:
        try:
            check_concentration(single(class_concentration))
        except ValueError as error:
            raise ValueError(f"in float32, {error}; {WIDER}") from None


def find_num_classes(
    num_classes: int | None, class_probs: Any, class_concentration: Any, families: Mapping[str, Family]
) -> int | None:
    """K, or None if nothing declares it.

    Raises:
        ValueError: if two parts of the model declare different numbers.
    """
    found = {"num_classes": arguments.check_num_classes(num_classes), "class_concentration": None, "class_probs": None}
    if class_probs is not None:
        found["class_probs"] = np.shape(class_probs)[0]
    if np.ndim(class_concentration) == 1:
        found["class_concentration"] = np.shape(class_concentration)[0]
    found |= {name: family.num_classes for name, family in families.items()}
    known = {name: k for name, k in found.items() if k is not None}
    if len(set(known.values())) > 1:
        raise ValueError(f"the model declares different numbers of classes: {known}")
    return next(iter(known.values()), None)
