"""The axes of a family's parameters, and a label for each of their entries."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import singledispatch
from itertools import product
from typing import Any

from bayesnb.families import Categorical, Histogram, MultivariateNormal
from bayesnb.families.tied_columns import TiedColumns

Axes = Mapping[str, Sequence[Any]]
"""The labels along each axis, by name of the axis."""


@singledispatch
def site_axes(family: Any, site: str, columns: Sequence[Any]) -> Axes:
    """The axes of a site except that of classes."""
    del family, site
    return {"features": columns}


@singledispatch
def site_labels(family: Any, site: str, columns: Sequence[str]) -> tuple[str, ...]:
    """A label for each entry of a site in one class."""
    return tuple(", ".join(map(str, names)) for names in product(*site_axes(family, site, columns).values()))


@site_axes.register(Categorical)
def _(family: Any, site: str, columns: Sequence[Any]) -> Axes:
    sizes = family.category_sizes(1)
    if not family.site_a_column:
        return {"features": columns, "categories": range(max(sizes, default=1))}
    place = int(site.removeprefix("probs_"))
    return {f"categories_{place}": range(sizes[place])}


@site_labels.register(Categorical)
def _(family: Any, site: str, columns: Sequence[str]) -> tuple[str, ...]:
    axes = site_axes(family, site, columns)
    names = axes.get("features", [columns[int(site.removeprefix("probs_"))]] if family.site_a_column else [])
    return tuple(f"{name} = {c}" for name in names for c in [*axes.values()][-1])


@site_axes.register(MultivariateNormal)
def _(family: Any, site: str, columns: Sequence[Any]) -> Axes:
    del family
    return {"features": columns} | ({"features_other": columns} if site == "covariance" else {})


@site_axes.register(Histogram)
def _(family: Any, site: str, columns: Sequence[Any]) -> Axes:
    axes: dict[str, Axes] = {
        "probs": {"cells": range(family.cells)}, "cuts": {"edges": range(family.cells - 1)}, "total": {}
    }  # fmt: skip
    return {"features": columns, **axes[site]}


@site_axes.register(TiedColumns)
def _(family: Any, site: str, columns: Sequence[Any]) -> Axes:
    pairs = [*zip(columns, family.columns, strict=True)]
    names = ["+".join(str(name) for name, group in pairs if group == g) for g in range(family.num_groups)]
    axes = site_axes.dispatch(family.untied)(family, site, names)
    return {"groups" if axis == "features" else axis: labels for axis, labels in axes.items()}


site_labels.register(TiedColumns, lambda family, site, columns: site_labels.dispatch(object)(family, site, columns))
