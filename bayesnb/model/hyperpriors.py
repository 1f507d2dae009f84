"""Hyperpriors: hyperparameters that are NumPyro distributions, inferred with everything else.

    h ~ hyperprior;  theta | h ~ prior(h);  rows | theta ~ likelihood

A hyperprior's site is ``block_prior_field``, such as ``x_prior_a``, or ``class_concentration``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

import numpyro
import numpyro.distributions as dist

from bayesnb.arrays.placement import Array, allow_promotion
from bayesnb.arrays.pytree import fields_of
from bayesnb.families.base import Family
from bayesnb.rows.labelled_rows import Specification

Model = TypeVar("Model", bound=Specification)


def hyperpriors(model: Specification) -> dict[str, dist.Distribution]:
    """The hyperpriors of a model by site; empty if every hyperparameter is a number, an array or left to the data."""
    found: dict[str, dist.Distribution] = {}
    for block, family in model.families.items():
        found |= {f"{block}_prior_{field}": value for field, value in _distributions(family).items()}
    if isinstance(model.class_concentration, dist.Distribution):
        found["class_concentration"] = model.class_concentration
    return found


def fill_hyperpriors(model: Model, values: Mapping[str, Array]) -> Model:
    """The model with values in place of its hyperpriors; pure JAX."""
    families = {
        block: family._replace(**{field: values[f"{block}_prior_{field}"] for field in _distributions(family)})
        for block, family in model.families.items()
    }
    return model.with_hyperparameters(families, values.get("class_concentration", model.class_concentration))


def sample_hyperparameters(model: Specification, names: Mapping[str, str] | None = None) -> dict[str, Array]:
    """Sample every hyperprior, inside a NumPyro program, and return the values by site; ``names`` are other names."""
    names = names or {}
    with allow_promotion():
        return {
            site: numpyro.sample(names.get(site, site), d.to_event(len(d.batch_shape)))
            for site, d in hyperpriors(model).items()
        }


def _distributions(family: Family) -> dict[str, Any]:
    values = ((f.name, getattr(family, f.name)) for f in fields_of(family))
    return {name: value for name, value in values if isinstance(value, dist.Distribution)}
