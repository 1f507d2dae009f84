"""The hyperparameters of a prior, fields of a frozen dataclass that broadcast to [K, D], and plates of parameters."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import ExitStack
from functools import singledispatch
from typing import Any, ClassVar, Self

import numpy as np
import numpyro
import numpyro.distributions as dist

from bayesnb.arrays.cells import LARGEST_CELL
from bayesnb.arrays.placement import as_array
from bayesnb.arrays.pytree import Node, fields_of
from bayesnb.families.parts.support import (
    BOUND,
    WIDER,
    Axes,
    require_axes,
    require_positive,
    require_size,
    single,
)


class Hyperparameters(Node):
    """A prior whose fields are its hyperparameters."""

    axes: ClassVar[Axes]
    """The shape of each hyperparameter of a resolved family."""

    required: ClassVar[tuple[str, ...]] = ()
    """Hyperparameters that cannot be left to the data: they must not be None."""

    positive: ClassVar[tuple[str, ...]] = ()
    """Hyperparameters that must be positive if given."""

    squared: ClassVar[tuple[str, ...]] = ()
    """Hyperparameters of either sign that are squared, so they are bounded in size."""

    def __post_init__(self) -> None:
        owner = type(self).__name__
        for name, value in self._values(static=False).items():
            if value is None and name in self.required:
                raise ValueError(f"{owner}: {name} must be a number or an array of numbers, got None")
            if isinstance(value, list | tuple | np.ndarray):
                value = as_array(value)
                object.__setattr__(self, name, value)
            most = most_axes(self, name)
            if getattr(value, "ndim", 0) > most:
                raise ValueError(f"{owner}: {name} has at most {most} axes, got shape {np.shape(value)}")
        require_positive(owner, **{name: getattr(self, name) for name in self.positive})
        require_size(owner, **{name: getattr(self, name) for name in self.squared})

    def _values(self, *, static: bool) -> dict[str, Any]:
        """The hyperparameters, or the ``static`` fields, by name."""
        return {f.name: getattr(self, f.name) for f in fields_of(self) if bool(f.metadata.get("static")) == static}

    def _replace(self, **changes: Any) -> Self:
        """A copy with other hyperparameters, without checks: they are known to be valid, or traced."""
        node = object.__new__(type(self))
        node.__dict__.update(self.__dict__ | changes)
        return node

    def check_resolved(self, block: str, num_classes: int, num_columns: int) -> None:
        """Raise ValueError unless these hyperparameters are valid for a resolved or updated family of these sizes."""
        structure, values = self._values(static=True), self._values(static=False)
        type(self)(**structure)
        require_axes(f"block {block!r}", values, self.axes, self.axis_sizes(num_classes, num_columns))
        for name in self.squared:
            if not (np.abs(np.asarray(values[name], float)) <= LARGEST_CELL).all():
                raise ValueError(f"block {block!r}: {name} must be at most {LARGEST_CELL:.2g}, because it is squared")
        double = {name: _clip(np.asarray(values[name], np.float64), letters) for name, letters in self.axes}
        type(self)(**structure | values | self.as_given(double))

    def check_float32(self, block: str) -> None:
        """Raise ValueError if float32 cannot hold a known hyperparameter and its square."""
        held = {name: single(value) for name, value in self._values(static=False).items()}
        try:
            type(self)(**self._values(static=True) | held)
        except ValueError as error:
            raise ValueError(f"block {block!r}, {self!r}, in float32: {error}; {WIDER}") from None

    def axis_sizes(self, num_classes: int, num_columns: int) -> Mapping[str, int]:
        """The sizes that the letters of ``axes`` stand for."""
        return {"K": num_classes, "D": num_columns}

    def as_given(self, values: Mapping[str, Any]) -> dict[str, Any]:
        """The hyperparameters, with valid ones in place of values that data may produce but users may not give."""
        return dict(values)

    @property
    def num_classes(self) -> int | None:
        """K if a hyperparameter is given class by class, else None."""
        found = set()
        for name, _ in self.axes:
            value = getattr(self, name)
            shape = value.shape() if isinstance(value, dist.Distribution) else np.shape(value)
            if len(shape) == most_axes(self, name) and shape[0] != 1:
                found.add(shape[0])
        if len(found) > 1:
            raise ValueError(f"{self!r}: hyperparameters for different numbers of classes, {sorted(found)}")
        return found.pop() if found else None

    @property
    def table_shape(self) -> tuple[int, int]:
        """The shape (K, D), or (K, S), of a resolved family's hyperparameters."""
        return getattr(self, self.axes[0][0]).shape

    @property
    def num_columns(self) -> int:
        """The number of columns D of a resolved family."""
        return self.table_shape[1]


@singledispatch
def most_axes(prior: Any, name: str) -> int:
    """The largest number of axes of a hyperparameter that a user gives; with so many the first one is classes."""
    return len(dict(prior.axes).get(name, "KD"))


def _clip(value: np.ndarray[Any, Any], letters: str) -> np.ndarray[Any, Any]:
    """The values clipped to the bounds for users' hyperparameters, which data of extreme scale can exceed."""
    if letters.endswith("DD"):  # a correlation matrix stays positive definite
        roots = np.sqrt(np.diagonal(value, axis1=-2, axis2=-1))
        roots = np.where(roots > 0, roots, 1.0)
        value = value / roots[..., None, :] / roots[..., :, None]
    size = np.abs(value)
    return np.where((size > 0) & np.isfinite(size), np.sign(value) * np.clip(size, 1 / BOUND, BOUND), value)


def plates(block: str, shape: tuple[int, ...], *, common: bool = False) -> ExitStack:
    """The plates of a block's parameters: classes unless they are ``common``, and features unless the shape is [K]."""
    stack = ExitStack()
    names = ("classes", "features")
    for axis, (name, size) in enumerate(zip(names, shape, strict=False)):
        if name == "features" or not common:
            stack.enter_context(numpyro.plate(f"{block}_{name}", size, dim=axis - len(shape)))
    return stack
