"""The hyperparameters of a prior, fields of a frozen dataclass that broadcast to [K, D], and plates of parameters."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import ExitStack
from functools import singledispatch
from typing import Any, ClassVar, Self

import numpy as np
import numpyro
import numpyro.distributions as dist

from bayesnb.compute.arrays._placement import Node, as_array, fields_of
from bayesnb.core.families.parts._support import Axes, require_positive, require_size


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
        for name, value in values_of(self).items():
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

    def _replace(self, **changes: Any) -> Self:
        """A copy with other hyperparameters, without checks: they are known to be valid, or traced."""
        node = object.__new__(type(self))
        node.__dict__.update(self.__dict__ | changes)
        return node

    def axis_sizes(self, num_classes: int, num_columns: int) -> Mapping[str, int]:
        """The sizes that the letters of ``axes`` stand for."""
        return {"K": num_classes, "D": num_columns}

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
    def num_columns(self) -> int:
        """The number of columns D of a resolved family."""
        return getattr(self, self.axes[0][0]).shape[1]


def values_of(prior: Hyperparameters, *, static: bool = False) -> dict[str, Any]:
    """The hyperparameters, or the ``static`` fields, by name."""
    return {f.name: getattr(prior, f.name) for f in fields_of(prior) if bool(f.metadata.get("static")) == static}


@singledispatch
def most_axes(prior: Any, name: str) -> int:
    """The largest number of axes of a hyperparameter that a user gives; with so many the first one is classes."""
    return len(dict(prior.axes).get(name, "KD"))


def plates(block: str, shape: tuple[int, ...], *, common: bool = False) -> ExitStack:
    """The plates of a block's parameters: classes unless they are ``common``, and features unless the shape is [K]."""
    stack = ExitStack()
    names = ("classes", "features")
    for axis, (name, size) in enumerate(zip(names, shape, strict=False)):
        if name == "features" or not common:
            stack.enter_context(numpyro.plate(f"{block}_{name}", size, dim=axis - len(shape)))
    return stack
