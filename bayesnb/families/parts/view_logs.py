"""What scores rows that several views see: logs of cells, and the Student's t of a Normal, raised to powers."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp

from bayesnb.arrays.placement import Array
from bayesnb.arrays.pytree import pytree
from bayesnb.families.parts.student_t import Student, student
from bayesnb.families.priors.normal_inverse_gamma import NormalInverseGamma
from bayesnb.numerics.log_prob import LogProb


def raise_student(table: Student, powers: Array) -> Student:
    """The log densities of columns times powers, [D] or [1]."""
    return table._replace(power=powers[None] * table.power, offset=powers[None] * table.offset)


@pytree
class ViewLogs:
    """``logs`` of cells [K, D G] with their shares, and a Normal's hyperparameters, which has the share one half.

    A family whose classes are apart.
    """

    logs: Array
    normal: NormalInverseGamma | None

    def predictive_tables(self) -> Any:
        """The tables that score rows."""
        cells = LogProb(self.logs, None)
        return cells if self.normal is None else (cells, raise_student(student(self.normal), jnp.full((1,), 0.5)))
