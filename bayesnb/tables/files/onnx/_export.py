"""Export predictions to an ONNX file, which programs without Python run.

The fit's parameters become constants of functions of rows, for any number of rows.
"""

from __future__ import annotations

from typing import Any

import jax
import jax.export
import jax.numpy as jnp

from bayesnb.compute.arrays._placement import is_traced
from bayesnb.compute.arrays._typing import Estimator
from bayesnb.core.results._classifier import Classifier
from bayesnb.core.rows._checks import num_parts
from bayesnb.core.storage._results import StorageError, Target, is_named, name_of, write_content


def export(fit: Classifier | Estimator, path: Target) -> None:
    """Export the predictions of a fit, or of an estimator, to an ONNX file, which onnxruntime and others run.

    The name of the file ends in ``.onnx``. Writing it needs ``pip install 'bayesnb[onnx]'``. Programs with JAX and
    without bayesnb run what ``jax.export`` writes, in three lines: docs/how_to/serve_with_jax_alone.md.

    Numbers are float64 throughout: log p is that of the fit to 1e-9 of max(1, |log p|), or to 1e-5 for rows with counts
    of up to 1e8, of Multinomial 1e9. Memory grows with the rows of a call: give many in batches. The inputs are:

    - of a fit: an array [N, D] for each block by its name, ``X`` if there is one block; two for successes and totals,
      ``block_successes`` and ``block_totals``;
    - of an estimator: a column [N, 1] for each column of the frame by its name, text where the fit saw text and else
      numbers; ``X`` [N, D] if it was fitted to an array. Columns that the fit left out are no inputs.

    NaN is a missing cell, and so is a text or a category that the fit did not have, as ``""``. Other cells are not
    checked. The outputs are ``label`` [N], the number of the class or the estimator's label, and ``proba``,
    ``log_proba`` and ``log_joint``, [N, K] each::

        session = onnxruntime.InferenceSession("model.onnx")
        label, proba = session.run(["label", "proba"], {"X": X.astype(float)})  # float32 is refused

    The file is written atomically.

    Args:
        fit: A result of a ``fit_`` function that has ``predict_log_proba``, or a fitted ``NaiveBayesClassifier``.
        path: The path of the file, whose folder must exist, or a file of such a name that is open for writing bytes.

    Raises:
        StorageError: if ``fit`` is not such a fit, ONNX has no form of it (as of draws), or the file cannot be written.

    Example:
        >>> import tempfile, pathlib, bayesnb as nb
        >>> fit = nb.fit_map(nb.NaiveBayes(nb.Bernoulli()), [[1, 0], [0, 1]], [0, 1])
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     nb.export(fit, f"{folder}/fit.onnx")
        ...     pathlib.Path(folder, "fit.onnx").stat().st_size > 0
        True
    """
    estimator = None if isinstance(fit, Classifier) else _require_estimator(fit)
    result: Any = fit if estimator is None else estimator.fit_
    if is_traced(result):
        raise StorageError("a fit inside a JAX transformation has no values yet: export it outside the transformation")
    if not is_named(path, ".onnx"):
        raise StorageError(
            f"export writes ONNX, to a file named .onnx, got {name_of(path)}: for programs with JAX, jax.export writes "
            "predict_proba in three lines, docs/how_to/serve_with_jax_alone.md"
        )
    try:
        from bayesnb.tables.files.onnx._to_onnx import to_onnx

        if estimator is not None:
            estimator.require_prior_of_fit()
            if estimator.classes_.dtype.kind in "mM":
                raise ValueError("its labels are dates: convert them to text or numbers")
        content = to_onnx(result, _like_rows(result), estimator)
    except ImportError as error:
        raise StorageError("to write ONNX files, install the package onnx: pip install 'bayesnb[onnx]'") from error
    except Exception as error:  # JAX and ONNX raise many types, depending on the function
        reason = str(error).splitlines()[0]
        raise StorageError(f"this {type(result).__name__} cannot be exported to ONNX: {reason}") from error
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


def _like_rows(fit: Classifier) -> Any:
    """The shapes and types of X for the fit, with a symbolic number of rows."""
    (num_rows,) = jax.export.symbolic_shape("rows")
    blocks: dict[str, Any] = {}
    for name, columns in fit.columns().items():
        one = jax.ShapeDtypeStruct((num_rows, columns), jnp.result_type(float))
        parts = num_parts(fit.model.families[name])
        blocks[name] = (one,) * parts if parts > 1 else one
    return blocks["x"] if fit.model.single else blocks
