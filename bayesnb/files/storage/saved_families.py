"""Whether the hyperparameters of a resolved or updated family are valid, as those of a saved one must be."""

from __future__ import annotations

from collections.abc import Mapping
from functools import singledispatch
from typing import Any

import numpy as np

from bayesnb.arrays.cells import LARGEST_CELL
from bayesnb.arrays.class_table import is_class_table
from bayesnb.families import Multinomial, MultivariateNormal, Normal, Views
from bayesnb.families.hyperparameters import values_of
from bayesnb.families.parts.support import BOUND, require_axes
from bayesnb.numerics.covariances import variances


@singledispatch
def check_resolved(family: Any, block: str, num_classes: int, num_columns: int) -> None:
    """Raise ValueError unless these hyperparameters are valid for a resolved or updated family of these sizes."""
    structure, values = values_of(family, static=True), values_of(family)
    type(family)(**structure)
    require_axes(f"block {block!r}", values, family.axes, family.axis_sizes(num_classes, num_columns))
    for name in family.squared:
        if not (np.abs(np.asarray(values[name], float)) <= LARGEST_CELL).all():
            raise ValueError(f"block {block!r}: {name} must be at most {LARGEST_CELL:.2g}, because it is squared")
    double = {name: _clip(np.asarray(values[name], np.float64), letters) for name, letters in family.axes}
    type(family)(**structure | values | as_given(family, double))


@singledispatch
def as_given(family: Any, values: Mapping[str, Any]) -> dict[str, Any]:
    """The hyperparameters, with valid ones in place of values that data may produce but users may not give."""
    del family
    return dict(values)


@check_resolved.register(Multinomial)
def _(family: Any, block: str, num_classes: int, num_columns: int) -> None:
    check, table = check_resolved.dispatch(object), family.concentration
    if not is_class_table(table):
        return check(family, block, num_classes, num_columns)
    table.check(f"block {block!r}", "concentration")
    if table.shape != (num_classes, num_columns) or len(table.base) != 1 or (np.asarray(table.total) != 1).any():
        raise ValueError(f"block {block!r}: concentration must be a table {num_classes, num_columns} of one prior")
    return check(family._replace(concentration=table.base), block, 1, num_columns)


as_given.register(Normal, lambda _, values: {**values, "rate": np.where(values["rate"] == 0, 1.0, values["rate"])})


@as_given.register(MultivariateNormal)
def _(family: Any, values: Mapping[str, Any]) -> dict[str, Any]:
    del family
    idle = np.eye(values["scale"].shape[-1]) * (variances(values["scale"]) == 0)[..., None]
    return {**values, "scale": values["scale"] + idle}


@check_resolved.register(Views)
def _(family: Any, block: str, num_classes: int, num_columns: int) -> None:
    for one in family.fitted:
        check_resolved(one, block, num_classes, num_columns)


def _clip(value: np.ndarray[Any, Any], letters: str) -> np.ndarray[Any, Any]:
    """The values clipped to the bounds for users' hyperparameters, which data of extreme scale can exceed."""
    if letters.endswith("DD"):  # a correlation matrix stays positive definite
        roots = np.sqrt(np.diagonal(value, axis1=-2, axis2=-1))
        roots = np.where(roots > 0, roots, 1.0)
        value = value / roots[..., None, :] / roots[..., :, None]
    size = np.abs(value)
    return np.where((size > 0) & np.isfinite(size), np.sign(value) * np.clip(size, 1 / BOUND, BOUND), value)
