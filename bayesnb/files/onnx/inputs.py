"""The inputs of an exported fit or estimator, and how rows follow from them: written in JAX, and traced."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from bayesnb.files.onnx.graph import DOUBLE, STRING
from bayesnb.frames.blocks import BlocksSchema, Schema
from bayesnb.frames.column_kinds import MISSING, Column
from bayesnb.frames.schema import FrameSchema
from bayesnb.frames.values import FLAGS, listing
from bayesnb.results.classifier import Classifier


class Input(NamedTuple):
    """An input [N, width]: numbers, or text by the codes of its ``values``."""

    name: str
    width: int
    values: tuple[str, ...] | None = None

    @property
    def kind(self) -> int:
        """The type of its cells in the file."""
        return DOUBLE if self.values is None else STRING

    @property
    def code_of(self) -> dict[str, int]:
        """The code of each text; booleans as text have several spellings."""
        codes = {text: code for code, text in enumerate(self.values or ())}
        for spelling, text in FLAGS.items():
            if text in codes:
                codes |= {spelling: codes[text], spelling.upper(): codes[text]}
        return codes


Rows = Callable[[Sequence[jax.Array]], Any]
"""X as a fit takes it, from the inputs [N, width] in order; those of text are codes, -1 where it is no value."""


def inputs_of_fit(fit: Classifier) -> tuple[list[Input], Rows]:
    """One input a block, named as it is, ``X`` if it is the only one; two for successes and totals."""
    inputs: list[Input] = []
    for name, width in fit.columns().items():
        known = "X" if fit.model.single else name
        pair = [f"{known}_successes", f"{known}_totals"]
        names = pair if fit.model.families[name].num_parts > 1 else [known]
        inputs += [Input(one, width or 0) for one in names]

    def rows(cells: Sequence[jax.Array]) -> Any:
        left, blocks = list(cells), {}
        for name in fit.columns():
            parts = tuple(left.pop(0) for _ in range(fit.model.families[name].num_parts))
            blocks[name] = parts if len(parts) > 1 else parts[0]
        return blocks["x"] if fit.model.single else blocks

    return inputs, rows


def inputs_of_estimator(schema: Schema) -> tuple[list[Input], Rows]:
    """One input a column of a frame, [N, 1], by its name; one for an array, ``X``, or the name of its block.

    Columns that the fit left out, or in which it saw no cell, are no inputs.
    """
    if not isinstance(schema, BlocksSchema):
        return _inputs_of_part("X", schema)
    parts = {name: _inputs_of_part(name, part) for name, part in schema.used.items()}

    def rows(cells: Sequence[jax.Array]) -> Any:
        left, blocks = list(cells), {}
        for name, (inputs, encode) in parts.items():
            own = encode([left.pop(0) for _ in inputs])
            named = own if isinstance(own, dict) else {"x": own}
            blocks.update({name if block == "x" else f"{name}_{block}": x for block, x in named.items()})
        return blocks

    return [one for inputs, _ in parts.values() for one in inputs], rows


def _inputs_of_part(name: str, schema: Any) -> tuple[list[Input], Rows]:
    if not isinstance(schema, FrameSchema):
        return [Input(name, len(schema.kinds))], lambda cells: _encode_array(schema, cells[0])
    words = [column.name for column in schema.used if column.kind == "words"]
    if words:
        raise ValueError(
            f"column {words[0]!r} is read word by word, and an ONNX file does not split text: count the words outside "
            "and fit 'multinomial' to the counts, or export to a file without .onnx, which JAX runs"
        )
    columns = [column for column in schema.used if column.text is not None]
    untold = {column.name for column in schema.indicators} - {c.name for c in columns if not c.text}
    if untold:
        raise ValueError(
            f"missing cells of {listing(sorted(untold))} are features of the fit, and an ONNX file tells missing cells "
            "of numbers only: export to a file without .onnx, or fit without `missing`"
        )

    def rows(cells: Sequence[jax.Array]) -> Any:
        given = {column.name: cell for column, cell in zip(columns, cells, strict=True)}
        like = cells[0][:, 0] * 0.0
        blocks = {
            block: jnp.stack([_encode_column(c, given[c.name][:, 0] if c.name in given else like) for c in own], axis=1)
            for block, own in schema.blocks.items()
        }
        return blocks["x"] if {*blocks} == {"x"} else blocks

    return [Input(c.name, 1, tuple(map(str, c.values)) if c.text else None) for c in columns], rows


def _encode_column(column: Column, cells: jax.Array) -> jax.Array:
    """As ``Column.encode``, of cells [N]; those of text are codes already."""
    missing = -1.0 if column.kind == "categorical" else np.nan
    if column.kind == "missing":
        return jnp.where(jnp.isnan(cells), 1.0, 0.0)
    if column.text is None:
        return jnp.full_like(cells, missing)
    if column.text or not column.values:
        return cells
    is_value = cells[:, None] == np.array(column.values, np.float64)[None]
    return jnp.where(is_value.any(axis=1), is_value.argmax(axis=1), missing)


def _encode_array(schema: Any, X: jax.Array) -> Any:
    """As ``ArraySchema.encode``."""
    indicators = jnp.where(jnp.isnan(X), 1.0, 0.0)
    if schema.inferred:
        flags = np.array(schema.kinds) == "bernoulli"
        X = jnp.where(flags[None] & (X != 0) & (X != 1), jnp.nan, X)
    blocks = schema.blocks
    return X if "x" in blocks else {b: (indicators if b == MISSING else X)[:, columns] for b, columns in blocks.items()}
