"""Export predictions as functions that programs can run without bayesnb: in StableHLO with JAX, or in ONNX without.

The fit's parameters become constants of two functions of rows, ``predict_log_proba`` and ``log_joint``, each [N, K],
from which all other predictions follow. They take any number N of rows. Those in StableHLO have gradients.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jax
import jax.export
import jax.numpy as jnp
import numpy as np

from bayesnb.compute.arrays._placement import is_traced, to_double
from bayesnb.compute.arrays._typing import Estimator
from bayesnb.core.results._classifier import Classifier
from bayesnb.core.rows._checks import num_parts
from bayesnb.core.storage import _tensors as tensors
from bayesnb.core.storage._results import StorageError, Target, is_named, write_content
from bayesnb.tables.files.storage._exported import FUNCTIONS, KIND, NO_FLATBUFFERS, VERSION

PLATFORMS = ("cpu", "cuda", "tpu")
"""The default platforms to export for, by JAX's names."""

KNOWN_PLATFORMS = (*PLATFORMS, "rocm")
"""All platforms that JAX supports; it would silently accept any other name."""

CHECKED = {"bernoulli", "categorical", "normal", "histogram", "poisson"}
"""The likelihoods that take every row that is encoded; others check it once more."""

NO_ONNX = "to write ONNX files, install the package onnx: pip install 'bayesnb[onnx]'"


def export(fit: Classifier | Estimator, path: Target, *, platforms: Sequence[str] = PLATFORMS) -> None:
    """Export the predictions of a fit, or of an estimator, to a file for programs that do not have bayesnb.

    If the name of the file ends in ``.onnx``, it is an ONNX graph, which onnxruntime and others run without Python;
    all other files hold functions for programs that have JAX, and ``load_exported`` reads them. An estimator is
    exported with its labels, its columns and their values, and takes the same rows: frames, dicts or arrays.

    **ONNX** (``pip install 'bayesnb[onnx]'``). Numbers are float64 throughout: log p is that of the fit to 1e-9 of
    max(1, |log p|), or to 1e-5 for rows with counts of up to 1e8, of Multinomial 1e9. Memory grows with the rows of a
    call: give many in batches. The inputs are:

    - of a fit: an array [N, D] for each block by its name, ``X`` if there is one block; two for successes and totals,
      ``block_successes`` and ``block_totals``;
    - of an estimator: a column [N, 1] for each column of the frame by its name, text where the fit saw text and else
      numbers; ``X`` [N, D] if it was fitted to an array. Columns that the fit left out are no inputs.

    NaN is a missing cell, and so is a text or a category that the fit did not have, as ``""``. Other cells are not
    checked. The outputs are ``label`` [N], the number of the class or the estimator's label, and ``proba``,
    ``log_proba`` and ``log_joint``, [N, K] each::

        session = onnxruntime.InferenceSession("model.onnx")
        label, proba = session.run(["label", "proba"], {"X": X.astype(float)})  # float32 is refused

    **JAX.** The functions take float32 rows, or float64 rows if JAX computes in float64 during the export
    (``jax.enable_x64``). A program without bayesnb can call them as follows, with X an array [N, D] or a dict of arrays
    by block, of an estimator the encoded rows::

        stored = safetensors.numpy.load_file(path)["predict_log_proba"]
        log_proba = jax.export.deserialize(bytearray(stored)).call(X)

    The file is in safetensors format. Later versions of JAX can read it for at least six months. All files are written
    atomically.

    Args:
        fit: A result of a ``fit_`` function that has ``predict_log_proba``, or a fitted ``NaiveBayesClassifier``.
        path: The path of the file, whose folder must exist, or a file that is open for writing bytes.
        platforms: The platforms to run on, by JAX's names: "cpu", "cuda", "tpu" or "rocm"; ONNX takes none.

    Raises:
        StorageError: if ``fit`` is not such a fit, JAX cannot export it, ONNX has no form of it (as of draws), or the
            file cannot be written.

    Example:
        >>> import io, bayesnb as nb
        >>> fit, file = nb.fit_map(nb.NaiveBayes(nb.Bernoulli()), [[1, 0], [0, 1]], [0, 1]), io.BytesIO()
        >>> nb.export(fit, file, platforms=["cpu"])
        >>> nb.load_exported(file.getvalue()).predict([[1, 0]]).tolist()
        [0]
    """
    estimator = None if isinstance(fit, Classifier) else _require_estimator(fit)
    result: Any = fit if estimator is None else estimator.fit_
    if is_traced(result):
        raise StorageError("a fit inside a JAX transformation has no values yet: export it outside the transformation")
    if isinstance(platforms, str) or not platforms or not set(platforms) <= set(KNOWN_PLATFORMS):
        raise StorageError(f"platforms must be a list of some of {KNOWN_PLATFORMS}, got {platforms!r}")
    to_onnx = is_named(path, ".onnx")
    if to_onnx and platforms is not PLATFORMS:
        raise StorageError("an ONNX file runs wherever an ONNX runtime does: leave out platforms")
    try:
        if estimator is not None:
            estimator.require_prior_of_fit()
            if estimator.classes_.dtype.kind in "mM":
                raise ValueError("its labels are dates: convert them to text or numbers")
        content = (_onnx if to_onnx else _stablehlo)(result, estimator, platforms)
    except ImportError as error:
        raise StorageError(NO_ONNX if to_onnx else NO_FLATBUFFERS) from error
    except Exception as error:  # JAX and ONNX raise many types, depending on function and platform
        reason, where = str(error).splitlines()[0], "to ONNX" if to_onnx else f"for {platforms}"
        raise StorageError(f"this {type(result).__name__} cannot be exported {where}: {reason}") from error
    write_content(path, lambda: content)


def _require_estimator(given: Any) -> Any:
    """The fitted estimator itself; StorageError if it is something else."""
    from bayesnb.tables.sklearn._estimator import NaiveBayesClassifier  # imports scikit-learn

    if not isinstance(given, NaiveBayesClassifier):
        raise StorageError(
            f"export takes a fit that has predict_log_proba, got {type(given).__name__}: fit a model first, or give "
            "a label of a MultiLabel"
        )
    if not hasattr(given, "fit_"):
        raise StorageError("this NaiveBayesClassifier has not been fitted: fit it before the export")
    return given


def _onnx(fit: Classifier, estimator: Any, _: Any) -> bytes:
    """The content of an ONNX file."""
    from bayesnb.tables.files.onnx._to_onnx import to_onnx

    return to_onnx(fit, _like_rows(fit), estimator)


def _stablehlo(fit: Classifier, estimator: Any, platforms: Sequence[str]) -> bytes:
    """The content of a file of functions in StableHLO, each with its gradient."""
    like, double = _like_rows(fit), to_double(fit)  # constants are computed in float64 and rounded once

    def exported(name: str) -> Any:
        function = jax.jit(lambda X: getattr(double, name)(fit.model.own_rows(X)))
        return np.frombuffer(jax.export.export(function, platforms=platforms)(like).serialize(vjp_order=1), np.uint8)

    arrays = {name: exported(name) for name in FUNCTIONS}
    described = {} if estimator is None else {"estimator": _describe_estimator(estimator, arrays)}
    header = {"format": f"{KIND} {VERSION}", "fit": type(fit).__name__, "jax": jax.__version__, **described}
    return tensors.to_bytes(header, arrays)


def _like_rows(fit: Classifier) -> Any:
    """The shapes and types of X for the fit, with a symbolic number of rows."""
    (num_rows,) = jax.export.symbolic_shape("rows")
    blocks: dict[str, Any] = {}
    for name, columns in fit.columns().items():
        one = jax.ShapeDtypeStruct((num_rows, columns), jnp.result_type(float))
        parts = num_parts(fit.model.families[name])
        blocks[name] = (one,) * parts if parts > 1 else one
    return blocks["x"] if fit.model.single else blocks


def _describe_estimator(estimator: Any, arrays: dict[str, Any]) -> dict[str, Any]:
    """The estimator's columns and labels as JSON, which ``ExportedEstimator`` reads; arrays are added to ``arrays``."""
    from bayesnb.core.storage._encoding import encode
    from bayesnb.tables.frames._schema import Schema

    schema, classes = estimator.schema_, estimator.classes_
    kinds, plain = {*schema.kinds}, None
    if schema.named and schema.family is None and kinds <= {*CHECKED, "skip"}:
        fields = ("name", "kind", "text", "inferred", "values")
        blocks = {
            block: [{field: getattr(column, field) for field in fields} for column in columns]
            for block, columns in schema.blocks.items()
        }
        plain = {"names": schema.names, "blocks": blocks, "single": schema.single}
    is_numbers = isinstance(schema, Schema) and schema.single and kinds == {"normal"}
    return {
        "classes": [classes.tolist(), classes.dtype.str],
        "feature_names": getattr(estimator, "feature_names_in_", np.array(None)).tolist(),
        "likelihoods": encode(estimator.likelihoods, arrays),
        "schema": encode(schema, arrays),
        "plain": plain,
        "num_numbers": len(schema.kinds) if is_numbers else None,
    }
