"""The plates of a block's parameters."""

from __future__ import annotations

from contextlib import ExitStack

import numpyro


def plates(block: str, shape: tuple[int, ...], *, common: bool = False) -> ExitStack:
    """The plates of a block's parameters: classes unless they are ``common``, and features unless the shape is [K]."""
    stack = ExitStack()
    names = ("classes", "features")
    for axis, (name, size) in enumerate(zip(names, shape, strict=False)):
        if common and name == "classes":
            continue
        stack.enter_context(numpyro.plate(f"{block}_{name}", size, dim=axis - len(shape)))
    return stack
