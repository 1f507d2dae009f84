"""Export predictions as functions that programs can run without bayesnb: in StableHLO with JAX, or in ONNX without.

The fit's parameters become constants of two functions of rows, ``predict_log_proba`` and ``log_joint``, each [N, K],
from which all other predictions follow. They take any number N of rows. Those in StableHLO have gradients.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import jax
import jax.export
import jax.numpy as jnp
import numpy as np

from bayesnb.arrays.placement import is_traced, to_double
from bayesnb.arrays.typing import Estimator
from bayesnb.files.storage.exported import FUNCTIONS, KIND, NO_FLATBUFFERS, VERSION
from bayesnb.files.storage.results import StorageError, Target, is_named, write_content, write_format
from bayesnb.model.naive_bayes import NaiveBayes
from bayesnb.results.classifier import Classifier
from bayesnb.rows.checks import num_parts

PLATFORMS = ("cpu", "cuda", "tpu")
"""The default platforms to export for, by JAX's names."""

KNOWN_PLATFORMS = (*PLATFORMS, "rocm")
"""All platforms that JAX supports; it would silently accept any other name."""

CHECKED = {"bernoulli", "categorical", "normal", "histogram", "poisson"}
"""The likelihoods that take every row that is encoded; others check it once more."""


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
    if is_named(path, ".onnx"):
        _export_onnx(result, estimator, path, platforms)
        return
    arrays: dict[str, Any] = {}
    try:
        rows, double = _rows(result), to_double(result)  # constants are computed in float64 and rounded once
        for name in FUNCTIONS:
            function = partial(_of_blocks, getattr(double, name), result.model)
            exported = jax.export.export(jax.jit(function), platforms=platforms)(rows)
            content = exported.serialize(vjp_order=1)  # with its gradient
            arrays[name] = np.frombuffer(content, np.uint8)
        described = {} if estimator is None else {"estimator": _describe_estimator(estimator, arrays)}
    except ImportError as error:
        raise StorageError(NO_FLATBUFFERS) from error
    except Exception as error:  # JAX raises many types, depending on function and platform
        reason = str(error).splitlines()[0]
        raise StorageError(f"this {type(result).__name__} cannot be exported for {platforms}: {reason}") from error
    header = {"fit": type(result).__name__, "jax": jax.__version__, **described}
    write_format(path, KIND, VERSION, header, arrays)


def _export_onnx(fit: Classifier, estimator: Any, path: Target, platforms: Sequence[str]) -> None:
    """Write an ONNX file; StorageError as ``export``."""
    from bayesnb.files.onnx.export import to_onnx
    from bayesnb.files.onnx.translation import NoOperator

    if platforms is not PLATFORMS:
        raise StorageError("an ONNX file runs wherever an ONNX runtime does: leave out platforms")
    try:
        content = to_onnx(fit, estimator)
    except ImportError as error:
        raise StorageError("to write ONNX files, install the package onnx: pip install 'bayesnb[onnx]'") from error
    except NoOperator as error:
        raise StorageError(
            f"this {type(fit).__name__} has no form in ONNX, which has none of {error}: export it to a file of another "
            "name, which JAX runs"
        ) from error
    except Exception as error:  # JAX and ONNX raise many types
        reason = str(error).splitlines()[0]
        raise StorageError(f"this {type(fit).__name__} cannot be exported to ONNX: {reason}") from error
    write_content(path, lambda: content)


def _require_estimator(given: Any) -> Any:
    """The fitted estimator itself; StorageError if it is something else."""
    from bayesnb.sklearn.estimator import NaiveBayesClassifier  # imports scikit-learn

    if not isinstance(given, NaiveBayesClassifier):
        raise StorageError(
            f"export takes a fit that has predict_log_proba, got {type(given).__name__}: fit a model first, or give "
            "the estimate of a Bootstrap or a label of a MultiLabel"
        )
    if not hasattr(given, "fit_"):
        raise StorageError("this NaiveBayesClassifier has not been fitted: fit it before the export")
    return given


def _of_blocks(function: Callable[[Any], Any], model: NaiveBayes, X: Any) -> Any:
    return function(model.own_rows(X))


def _rows(fit: Classifier) -> Any:
    """The shapes and types of X for the fit, with a symbolic number of rows."""
    (num_rows,) = jax.export.symbolic_shape("rows")
    blocks: dict[str, Any] = {}
    for name, columns in fit.columns().items():
        one = jax.ShapeDtypeStruct((num_rows, columns), jnp.result_type(float))
        parts = num_parts(fit.model.families[name])
        blocks[name] = (one,) * parts if parts > 1 else one
    return blocks["x"] if fit.model.single else blocks


def _describe_estimator(estimator: Any, arrays: dict[str, Any]) -> dict[str, Any]:
    """The estimator's columns and labels as JSON, which ``ExportedEstimator`` reads; arrays are added to ``arrays``.

    Raises:
        ValueError: for labels that are dates, and for a ``class_prior`` that was set after the fit.
    """
    from bayesnb.files.storage.encoding import encode
    from bayesnb.frames.schema import Schema

    estimator.require_prior_of_fit()
    schema, classes = estimator.schema_, estimator.classes_
    if classes.dtype.kind in "mM":
        raise ValueError("its labels are dates: convert them to text or numbers")
    kinds = {*schema.kinds}
    is_plain = schema.named and schema.family is None and kinds <= {*CHECKED, "skip"}
    is_numbers = isinstance(schema, Schema) and schema.single and kinds == {"normal"}
    return {
        "classes": [classes.tolist(), classes.dtype.str],
        "feature_names": getattr(estimator, "feature_names_in_", np.array(None)).tolist(),
        "likelihoods": encode(estimator.likelihoods, arrays),
        "schema": encode(schema, arrays),
        "plain": _describe_plain(schema.plain) if is_plain else None,
        "num_numbers": len(schema.kinds) if is_numbers else None,
    }


def _describe_plain(rows: Any) -> dict[str, Any]:
    """What encodes few rows, as JSON."""
    fields = ("name", "kind", "text", "inferred", "values")
    blocks = {
        block: [{field: getattr(column, field) for field in fields} for column in columns]
        for block, columns in rows.blocks.items()
    }
    return {"names": rows.names, "blocks": blocks, "single": rows.single}
