"""Export predictions as an ONNX file, which onnxruntime and others run without Python."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import jax
import jax.export
import jax.numpy as jnp
import numpy as np

from bayesnb.arrays.placement import to_double
from bayesnb.files.onnx import elementwise, layouts, lookups, translation
from bayesnb.files.onnx.graph import DOUBLE, STRING, Graph, Tensor, element_type, to_bytes
from bayesnb.files.onnx.inputs import Input, Rows, inputs_of_estimator, inputs_of_fit
from bayesnb.files.onnx.translation import Translation, Value
from bayesnb.results.classifier import Classifier
from bayesnb.results.draws import Draws

OUTPUTS = ("label", "proba", "log_proba", "log_joint")
"""The names of the outputs."""

RULES = elementwise.RULES, layouts.RULES | lookups.RULES | translation.RULES

ROWS = "rows"
"""The name of the number of rows."""


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
