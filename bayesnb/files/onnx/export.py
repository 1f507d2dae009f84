"""Export predictions as an ONNX file, which onnxruntime and others run without Python.

The inputs, and how rows follow from them, are written in JAX, and traced with the fit.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import jax
import jax.export
import jax.numpy as jnp
import numpy as np

from bayesnb.arrays.placement import to_double
from bayesnb.files.onnx import elementwise, layouts, lookups, translation
from bayesnb.files.onnx.graph import DOUBLE, STRING, Graph, Tensor, element_type, to_bytes
from bayesnb.files.onnx.translation import Translation, Value
from bayesnb.frames.blocks import AnySchema, BlocksSchema
from bayesnb.frames.columns import MISSING, Column
from bayesnb.frames.schema import Schema
from bayesnb.frames.values import FLAGS, listing
from bayesnb.results.classifier import Classifier
from bayesnb.results.draws import Draws
from bayesnb.rows.checks import num_parts

OUTPUTS = ("label", "proba", "log_proba", "log_joint")
"""The names of the outputs."""

OF_ARRAYS = layouts.RULES | lookups.RULES | translation.RULES | elementwise.OF_MATRICES
RULES = elementwise.RULES, elementwise.FUNCTIONS, OF_ARRAYS

ROWS = "rows"
"""The name of the number of rows."""


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


def to_onnx(fit: Classifier, estimator: Any = None) -> bytes:
    """The content of an ONNX file of a fit, or of the estimator that has it.

    Raises:
        ImportError: without the package ``onnx``.
        ValueError: for draws, for operations and names that ONNX does not have, and for files of more than 2 GB.
    """
    if isinstance(fit, Draws):
        raise ValueError(
            "a fit of draws would repeat its model for each draw: export fit_posterior of the same model, method="
            "'posterior' in the estimator, or the mean of the draws as a PointEstimate"
        )
    if estimator is not None:
        estimator.require_prior_of_fit()
    inputs, rows = inputs_of_fit(fit) if estimator is None else inputs_of_estimator(estimator.schema_)
    if not inputs:
        raise ValueError("the fit saw no cell in any column, so there is nothing to predict from")
    _check_names([one.name for one in inputs])
    labels = None if estimator is None else _checked_labels(estimator.classes_)
    graph = _graph(fit, inputs, rows, labels)
    metadata = {} if labels is None else {"classes": repr(labels.tolist())}
    return to_bytes(graph, f"Naive Bayes predictions of a {type(fit).__name__}; numbers are float64", metadata)


def _graph(fit: Classifier, inputs: Sequence[Input], rows: Rows, labels: Any) -> Graph:
    """The graph from the inputs to the outputs."""

    def predictions(*cells: jax.Array) -> Mapping[str, jax.Array]:
        X = fit.model.own_rows(rows(cells))
        log_proba = double.predict_log_proba(X)
        found = (log_proba.argmax(axis=1), jnp.exp(log_proba), log_proba, double.log_joint(X))
        return dict(zip(OUTPUTS, found, strict=True))

    graph, (num_rows,) = Graph(), jax.export.symbolic_shape(ROWS)
    names = [graph.add_input(Tensor(one.kind, (ROWS, one.width)), one.name) for one in inputs]
    with jax.enable_x64(True):
        double = to_double(fit)
        like = [jax.ShapeDtypeStruct((num_rows, one.width), jnp.float64) for one in inputs]
        traced, shapes = jax.make_jaxpr(predictions, return_shape=True)(*like)
        cells = [
            Value(aval.shape, _numbers(graph, one, name)) for aval, one, name in zip(like, inputs, names, strict=True)
        ]
        into = Translation(graph, num_rows, names[0], RULES)
        values = into.run(traced.jaxpr, traced.consts, cells)
    ordered = dict(zip(sorted(shapes), values, strict=True))
    for name in OUTPUTS:
        aval = shapes[name]
        value, described = into.full(ordered[name], aval.shape), translation.tensor(aval)
        if name == "label" and labels is not None:
            value = graph.add("Gather", graph.constant(labels), value, axis=0)
            described = Tensor(element_type(labels.dtype), described.shape)
        graph.add_output(value, described, name)
    return graph


def _numbers(graph: Graph, described: Input, name: str) -> str:
    """The input as numbers: the code of a text, -1 if the fit did not have it."""
    if described.kind != STRING:
        return name
    texts, codes = zip(*described.code_of.items(), strict=True)
    encoded = graph.add(
        "LabelEncoder", name, domain="ai.onnx.ml", keys_strings=texts, values_int64s=codes, default_int64=-1
    )
    return str(graph.add("Cast", encoded, to=DOUBLE))


def _check_names(names: list[str]) -> None:
    for name in names:
        if not name or name in OUTPUTS or names.count(name) > 1:
            raise ValueError(
                f"an input would be named {name!r}, which is empty, twice there or the name of an output, "
                f"{', '.join(OUTPUTS)}: rename the column or block"
            )


def _checked_labels(classes: Any) -> Any:
    if classes.dtype.kind in "mM":
        raise ValueError("its labels are dates: convert them to text or numbers")
    if classes.dtype.kind == "u" and classes.max(initial=0) > np.iinfo(np.int64).max:
        raise ValueError("its labels exceed 2^63 - 1, the largest whole number that an ONNX file holds: use text")
    return np.asarray(classes, object) if classes.dtype.kind in "OUT" else classes


def inputs_of_fit(fit: Classifier) -> tuple[list[Input], Rows]:
    """One input a block, named as it is, ``X`` if it is the only one; two for successes and totals."""
    inputs: list[Input] = []
    for name, width in fit.columns().items():
        known = "X" if fit.model.single else name
        pair = [f"{known}_successes", f"{known}_totals"]
        names = pair if num_parts(fit.model.families[name]) > 1 else [known]
        inputs += [Input(one, width or 0) for one in names]

    def rows(cells: Sequence[jax.Array]) -> Any:
        left, blocks = list(cells), {}
        for name in fit.columns():
            parts = tuple(left.pop(0) for _ in range(num_parts(fit.model.families[name])))
            blocks[name] = parts if len(parts) > 1 else parts[0]
        return blocks["x"] if fit.model.single else blocks

    return inputs, rows


def inputs_of_estimator(schema: AnySchema) -> tuple[list[Input], Rows]:
    """One input a column of a frame, [N, 1], by its name; one for an array, ``X``, or the name of its block.

    Columns that the fit left out, or in which it saw no cell, are no inputs.
    """
    if not isinstance(schema, BlocksSchema):
        return _inputs_of_part("X", schema)
    parts = {name: _inputs_of_part(name, part) for name, part in schema.used.items()}

    def rows(cells: Sequence[jax.Array]) -> Any:
        left = list(cells)
        blocks: dict[str, Any] = {}
        for inputs, encode in parts.values():
            blocks |= encode([left.pop(0) for _ in inputs])
        return blocks

    return [one for inputs, _ in parts.values() for one in inputs], rows


def _inputs_of_part(name: str, schema: Schema) -> tuple[list[Input], Rows]:
    if not schema.named:
        return [Input(name, schema.width)], lambda cells: _encode_array(schema, cells[0])
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
        return blocks["x"] if schema.single else blocks

    return [Input(c.name, 1, tuple(map(str, c.values)) if c.text else None) for c in columns], rows


def _encode_column(column: Column, cells: jax.Array) -> jax.Array:
    """As ``Column.encode``, of cells [N]; those of text are codes already."""
    if column.kind == "missing":
        return jnp.where(jnp.isnan(cells), 1.0, 0.0)
    if column.text is None:
        return jnp.full_like(cells, column.missing_code)
    if column.text or not column.values:
        return cells
    is_value = cells[:, None] == np.array(column.values, np.float64)[None]
    return jnp.where(is_value.any(axis=1), is_value.argmax(axis=1), column.missing_code)


def _encode_array(schema: Schema, X: jax.Array) -> Any:
    """As ``Schema.encode``."""
    indicators = jnp.where(jnp.isnan(X), 1.0, 0.0)
    flags = np.array([column.inferred and column.kind == "bernoulli" for column in schema.each])
    if flags.any():
        X = jnp.where(flags[None] & (X != 0) & (X != 1), jnp.nan, X)
    if schema.single:
        return X
    return {block: (indicators if block == MISSING else X)[:, places] for block, places in schema.positions.items()}
