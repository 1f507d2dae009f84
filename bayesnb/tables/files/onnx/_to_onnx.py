"""Export predictions as an ONNX file, which onnxruntime and others run without Python.

The inputs, and how rows follow from them, are written in JAX, and traced with the fit.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from itertools import count
from typing import Any, NamedTuple

import jax
import jax.export
import jax.numpy as jnp
import numpy as np
from onnx import checker, helper

from bayesnb.compute.arrays._placement import to_double
from bayesnb.core.results._classifier import Classifier
from bayesnb.core.results._draws import Draws
from bayesnb.tables.files.onnx._graph import DOUBLE, Graph, describe
from bayesnb.tables.files.onnx._operators import RULES
from bayesnb.tables.frames._blocks import AnySchema, BlocksSchema
from bayesnb.tables.frames._columns import MISSING, Column
from bayesnb.tables.frames._schema import Schema
from bayesnb.tables.frames._values import FLAGS, listing

OUTPUTS = ("label", "proba", "log_proba", "log_joint")
"""The names of the outputs."""


class Input(NamedTuple):
    """An input [N, width]: numbers, or the text of a ``column``."""

    name: str
    width: int
    column: Column | None = None

    def add_to(self, graph: Graph) -> str:
        """The name of its numbers: what was given, or the code of each text."""
        if self.column is None:
            return self.name
        codes = {str(value): float(code) for code, value in enumerate(self.column.values)}
        for spelling, text in FLAGS.items():
            if text in codes:
                codes |= {spelling: codes[text], spelling.upper(): codes[text]}
        options = {"keys_strings": [*codes], "values_floats": [*codes.values()], "domain": "ai.onnx.ml"}
        encoded = graph.add("LabelEncoder", self.name, default_float=float(self.column.missing_code), **options)
        return graph.add("Cast", encoded, to=DOUBLE)


Rows = Callable[[Sequence[jax.Array]], Any]
"""X as a fit takes it, from the numbers of the inputs, [N, width] in order."""


def to_onnx(fit: Classifier, like: Any, estimator: Any = None) -> bytes:
    """The content of an ONNX file of a fit, whose X has the shapes ``like``, or of the estimator that has it.

    Raises:
        ValueError: for draws, for operations and names that ONNX does not have, and for files of more than 2 GB.
    """
    if isinstance(fit, Draws):
        raise ValueError(
            "a fit of draws would repeat its model for each draw: export fit_posterior of the same model, method="
            "'posterior' in the estimator, or the mean of the draws as a PointEstimate"
        )
    inputs, rows = _inputs_of_fit(like) if estimator is None else _inputs_of_estimator(estimator.schema_)
    if not inputs:
        raise ValueError("the fit saw no cell in any column, so there is nothing to predict from")
    names = [one.name for one in inputs]
    for name in names:
        if not name or name in OUTPUTS or names.count(name) > 1:
            raise ValueError(
                f"an input would be named {name!r}, which is empty, twice there or the name of an output, "
                f"{', '.join(OUTPUTS)}: rename the column or block"
            )
    model = helper.make_model(
        _graph(fit, inputs, rows, None if estimator is None else estimator.classes_),
        opset_imports=[helper.make_opsetid("", 18), helper.make_opsetid("ai.onnx.ml", 2)],
        ir_version=8,  # all of ONNX 1.13, which onnxruntime 1.14 and later run
        producer_name="bayesnb",
        doc_string=f"Naive Bayes predictions of a {type(fit).__name__}; numbers are float64",
    )
    if estimator is not None:
        helper.set_model_props(model, {"classes": repr(estimator.classes_.tolist())})
    content: bytes = model.SerializeToString()
    checker.check_model(content, full_check=True)
    return content


def _graph(fit: Classifier, inputs: Sequence[Input], rows: Rows, labels: Any) -> Any:
    """The graph from the inputs to the outputs, in ONNX's format."""

    def predictions(*cells: jax.Array) -> list[jax.Array]:
        X = fit.model.own_rows(rows(cells))
        log_proba = double.predict_log_proba(X)
        return [log_proba.argmax(axis=1), jnp.exp(log_proba), log_proba, double.log_joint(X)]

    names = tuple(one.name for one in inputs)
    word = next(word for word in map("v{}".format, count()) if not any(name.startswith(word) for name in names))
    (num_rows,) = jax.export.symbolic_shape("rows")
    graph = Graph(RULES, num_rows, names[0], word)
    with jax.enable_x64(True):
        double = to_double(fit)
        like = [jax.ShapeDtypeStruct((num_rows, one.width), jnp.float64) for one in inputs]
        traced = jax.make_jaxpr(predictions)(*like)
        values = graph.run(traced, [one.add_to(graph) for one in inputs])
    avals = [*traced.out_avals]
    if labels is not None:
        if labels.dtype.kind == "u" and labels.max() > np.iinfo(np.int64).max:
            raise ValueError("its labels exceed 2^63 - 1, the largest whole number that an ONNX file holds: use text")
        known = np.asarray(labels, object) if labels.dtype.kind in "OUT" else labels
        values[0] = graph.add("Gather", graph.constant(known), graph.name(values[0]), axis=0)
        avals[0] = jax.ShapeDtypeStruct(avals[0].shape, known.dtype)
    given = [
        describe(one.name, x.update(dtype=object) if one.column else x) for x, one in zip(like, inputs, strict=True)
    ]
    return graph.to_proto(given, [graph.output(*one) for one in zip(values, avals, OUTPUTS, strict=True)])


def _inputs_of_fit(like: Any) -> tuple[list[Input], Rows]:
    """One input a block, named as it is, ``X`` if it is the only one; two for successes and totals."""
    inputs: list[Input] = []
    for name, block in sorted(like.items()) if isinstance(like, dict) else [("X", like)]:
        parts = (
            {f"{name}_successes": block[0], f"{name}_totals": block[1]} if isinstance(block, tuple) else {name: block}
        )
        inputs += [Input(one, x.shape[1]) for one, x in parts.items()]
    return inputs, partial(jax.tree.unflatten, jax.tree.structure(like))  # which sorts blocks by name


def _inputs_of_estimator(schema: AnySchema) -> tuple[list[Input], Rows]:
    """One input a column of a frame, [N, 1], by its name; one for an array, ``X``, or the name of its block.

    Columns that the fit left out, or in which it saw no cell, are no inputs.
    """
    parts = schema.used if isinstance(schema, BlocksSchema) else {"X": schema}
    inputs = {name: _columns(part) if part.named else [Input(name, part.width)] for name, part in parts.items()}

    def rows(cells: Sequence[jax.Array]) -> Any:
        left = iter(cells)
        blocks: dict[str, jax.Array] = {}
        for name, part in parts.items():
            own = [next(left) for _ in inputs[name]]
            blocks |= _encode_frame(part, inputs[name], own) if part.named else _encode_array(part, *own)
        return blocks["x"] if isinstance(schema, Schema) and schema.single else blocks

    return [one for some in inputs.values() for one in some], rows


def _columns(schema: Schema) -> list[Input]:
    """The inputs of a frame."""
    words = [column.name for column in schema.used if column.kind == "words"]
    if words:
        raise ValueError(
            f"column {words[0]!r} is read word by word, and an ONNX file does not split text: count the words outside "
            "and fit 'multinomial' to the counts, or write predict_proba of the counts by jax.export"
        )
    columns = [column for column in schema.used if column.text is not None]
    untold = {column.name for column in schema.indicators} - {c.name for c in columns if not c.text}
    if untold:
        raise ValueError(
            f"missing cells of {listing(sorted(untold))} are features of the fit, and an ONNX file tells missing cells "
            "of numbers only: fit without `missing`, or write predict_proba of clf.fit_ by jax.export"
        )
    return [Input(column.name, 1, column if column.text else None) for column in columns]


def _encode_frame(schema: Schema, inputs: Sequence[Input], cells: Sequence[jax.Array]) -> dict[str, jax.Array]:
    """As ``Schema.encode``; texts are codes already."""
    given = {one.name: x[:, 0] for one, x in zip(inputs, cells, strict=True)}

    def encode(column: Column) -> jax.Array:
        x = given.get(column.name, jnp.nan * cells[0][:, 0])
        if column.kind == "missing":
            return jnp.where(jnp.isnan(x), 1.0, 0.0)
        if column.text or not column.values:
            return x
        is_value = x[:, None] == np.array(column.values, np.float64)[None]
        return jnp.where(is_value.any(axis=1), is_value.argmax(axis=1), column.missing_code)

    return {block: jnp.stack([encode(column) for column in own], axis=1) for block, own in schema.blocks.items()}


def _encode_array(schema: Schema, X: jax.Array) -> dict[str, jax.Array]:
    """As ``Schema.encode``."""
    flags = np.array([column.inferred and column.kind == "bernoulli" for column in schema.each])
    others = flags[None] & (X != 0) & (X != 1)
    known = jnp.where(others, jnp.nan, X) if flags.any() else X
    missing = jnp.where(jnp.isnan(X), 1.0, 0.0)
    return {block: (missing if block == MISSING else known)[:, at] for block, at in schema.positions.items()}
