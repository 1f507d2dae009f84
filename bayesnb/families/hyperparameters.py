"""The numbers of a prior: fields of a frozen dataclass that broadcast to [K, D]."""

from __future__ import annotations

from typing import Any, Self

import jax
import numpy as np

from bayesnb.arrays import as_array
from bayesnb.nodes import Node, fields_of


class Hyperparameters(Node):
    """A prior whose fields are its hyperparameters."""

    def __post_init__(self) -> None:
        for f in fields_of(self):
            value = getattr(self, f.name)
            if isinstance(value, list | tuple | np.ndarray) and not f.metadata.get("static"):
                object.__setattr__(self, f.name, as_array(value))

    def _replace(self, **changes: Any) -> Self:
        """A copy with other hyperparameters that are already known to be valid, or traced."""
        values = {f.name: getattr(self, f.name) for f in fields_of(self)}
        node = object.__new__(type(self))
        for name, value in {**values, **changes}.items():
            object.__setattr__(node, name, value)
        return node

    @property
    def num_classes(self) -> int | None:
        """K where a hyperparameter is given class by class, else None."""
        found = {np.shape(v)[0] for v in jax.tree.leaves(self) if np.ndim(v) == 2 and np.shape(v)[0] > 1}
        if len(found) > 1:
            raise ValueError(f"{self!r}: hyperparameters for different numbers of classes, {sorted(found)}")
        return found.pop() if found else None

    @property
    def table_shape(self) -> tuple[int, int]:
        """(K, D) of a resolved family's hyperparameters, or (K, S)."""
        return jax.tree.leaves(self)[0].shape

    @property
    def num_columns(self) -> int:
        """D of a resolved family."""
        return self.table_shape[1]
