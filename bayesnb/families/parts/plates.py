"""The sites of a block's parameters, and their plates."""

from __future__ import annotations

from contextlib import ExitStack
from typing import Any

import numpyro


def sample_params(family: Any, block: str) -> Any:
    """``family.params(block)`` of a resolved family; a block without columns has empty values and no sample sites."""
    if family.num_columns:
        return family.params(block)
    return {site: numpyro.deterministic(f"{block}_{site}", value) for site, value in family.mode().items()}


def plates(block: str, shape: tuple[int, ...], *, common: bool = False) -> ExitStack:
    """The plates of a block's parameters: classes unless they are ``common``, and features unless the shape is [K]."""
    stack = ExitStack()
    names = ("classes", "features")
    for axis, (name, size) in enumerate(zip(names, shape, strict=False)):
        if common and name == "classes":
            continue
        stack.enter_context(numpyro.plate(f"{block}_{name}", size, dim=axis - len(shape)))
    return stack
