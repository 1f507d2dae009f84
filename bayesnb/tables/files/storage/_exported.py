"""Load exported predictions and serve them, without NumPyro and data frames, so that a process starts quickly.

An exported file is a program: load only files that you trust. Nothing in it is run before the first prediction, but a
function from somebody else may run forever, use much memory, or make JAX call native code with wrong sizes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cached_property, partial
from typing import Any

import jax
import jax.export
import jax.numpy as jnp
import numpy as np

from bayesnb.compute.arrays._cells import LARGEST_CELL
from bayesnb.compute.arrays._loops import require_jax
from bayesnb.compute.arrays._placement import on_host, pad_rows
from bayesnb.compute.arrays._typing import Array, Rows, Table
from bayesnb.compute.numerics._log_prob import logsumexp
from bayesnb.core.storage._results import Source, StorageError, is_named, name_of, read_format
from bayesnb.tables.frames._columns import Column
from bayesnb.tables.frames._plain_rows import PlainRows

HostArray = np.ndarray[Any, Any]

KIND, VERSION = "bayesnb exported", 1
"""The kind of file, and the version of its format."""

FUNCTIONS = ("predict_log_proba", "log_joint")
"""The exported methods of the fit."""

NO_FLATBUFFERS = "to read and write functions JAX needs flatbuffers: pip install flatbuffers"


def load_exported(path: Source) -> ExportedClassifier | ExportedEstimator:
    """Load a file written by ``export``, ready to predict: an ``ExportedEstimator`` if an estimator was exported.

    The file holds compiled functions, which are not checked: load only files that you trust.

    Args:
        path: The path of the file, its bytes, or a file that is open for reading bytes.

    Raises:
        StorageError: if the file cannot be read, is damaged, or was not written by ``export`` or by a later version of
            bayesnb or JAX.

    Example:
        >>> import io, bayesnb as nb
        >>> fit, file = nb.fit_map(nb.NaiveBayes(nb.Bernoulli()), [[1, 0], [0, 1]], [0, 1]), io.BytesIO()
        >>> nb.export(fit, file, platforms=["cpu"])
        >>> nb.load_exported(file.getvalue()).fit
        'PointEstimate'
    """
    if is_named(path, ".onnx"):
        raise StorageError(f"{name_of(path)} is an ONNX file, which onnxruntime reads: onnxruntime.InferenceSession")
    header, arrays = read_format(path, KIND, VERSION, "nb.export")
    try:
        functions = {name: jax.export.deserialize(bytearray(arrays[name])) for name in FUNCTIONS}
        classifier = ExportedClassifier(header["fit"], functions)
    except ImportError as error:
        raise StorageError(NO_FLATBUFFERS) from error
    except Exception as error:  # malformed bytes can raise anything
        raise StorageError(
            f"{name_of(path)} holds functions of JAX {header.get('jax')} that JAX {jax.__version__} cannot read: "
            f"{type(error).__name__}, {error}"
        ) from error
    if "estimator" not in header:
        return classifier
    try:
        return ExportedEstimator(classifier, header["estimator"], arrays)
    except Exception as error:  # as above
        raise StorageError(f"{name_of(path)} does not describe a valid estimator: {error!r}") from error


class ExportedClassifier:
    """An exported fit: it has the functions in its file, and nothing else of the fit.

    X is an array [N, D], or a dict of arrays by block, as for the fit; results are JAX arrays. Gradients are available
    to first order, ``vmap`` is not. Blocks, columns and types are checked; cells outside a likelihood's support give
    meaningless numbers, as inside ``jax.jit``. JAX rows are compiled for each number of rows, numpy rows for few.

    Attributes:
        fit: The name of the fit's type.
        functions: ``predict_log_proba`` and ``log_joint``, each a ``jax.export.Exported``.

    Example:
        >>> import io, bayesnb as nb
        >>> fit, file = nb.fit_posterior(nb.NaiveBayes(nb.Bernoulli()), [[1], [1], [0]], [0, 0, 1]), io.BytesIO()
        >>> nb.export(fit, file, platforms=["cpu"])
        >>> [round(float(p), 2) for p in nb.load_exported(file.getvalue()).predict_proba([[1]])[0]]
        [0.77, 0.23]
    """

    def __init__(self, fit: str, functions: dict[str, jax.export.Exported]) -> None:
        self.fit, self.functions = fit, functions
        one = functions["log_joint"]
        ((rows,), _) = jax.tree.unflatten(one.in_tree, one.in_avals)
        self._single = not isinstance(rows, dict)
        by_name = {"x": rows} if self._single else rows
        self._blocks = {
            name: (block[0].shape[1], 2) if isinstance(block, tuple) else (block.shape[1], 1)
            for name, block in by_name.items()
        }
        """The number of columns of each block, and of its arrays."""
        self._dtype, self.num_classes = one.out_avals[0].dtype, int(one.out_avals[0].shape[1])

        def of_blocks(function: jax.export.Exported, arrays: dict[str, Array]) -> jax.Array:
            return function.call(self._unpack(arrays))

        log_proba, log_joint = (partial(of_blocks, functions[name]) for name in FUNCTIONS)
        self._compiled: dict[str, Callable[[dict[str, Array]], jax.Array]] = {
            "predict_log_proba": jax.jit(log_proba),
            "predict_proba": jax.jit(lambda arrays: jnp.exp(log_proba(arrays))),
            "predict": jax.jit(lambda arrays: log_proba(arrays).argmax(axis=-1)),
            "log_joint": jax.jit(log_joint),
            "log_density": jax.jit(lambda arrays: logsumexp(log_joint(arrays))),
        }

    def log_joint(self, X: Rows) -> jax.Array:
        """log p(y = k, x) of each row, [N, K]; -inf if the class is impossible."""
        return self._answer("log_joint", X)

    def log_density(self, X: Rows) -> jax.Array:
        """log p(x) = log sum_k p(y = k, x) of each row, [N]; low for outliers."""
        return self._answer("log_density", X)

    def predict_log_proba(self, X: Rows) -> jax.Array:
        """log p(y = k | x), [N, K]. If all classes are impossible, those with the fewest impossible features remain."""
        return self._answer("predict_log_proba", X)

    def predict_proba(self, X: Rows) -> jax.Array:
        """p(y = k | x), [N, K]; each row sums to one."""
        return self._answer("predict_proba", X)

    def predict(self, X: Rows) -> jax.Array:
        """The most probable class of each row, integers [N]."""
        return self._answer("predict", X)

    def __repr__(self) -> str:
        columns = ", ".join(f"{name}[{width}]" for name, (width, _) in self._blocks.items())
        platforms = ", ".join(self.functions["log_joint"].platforms)
        return f"ExportedClassifier({self.fit}, {columns}, {self.num_classes} classes, {self._dtype} on {platforms})"

    def _answer(self, name: str, X: Any) -> jax.Array:
        require_jax()
        arrays, compiled = self._rows(X), self._compiled[name]
        num_rows = next(iter(arrays.values())).shape[0]
        if not num_rows:  # the functions need at least one row, which padding gives
            arrays = {block: np.zeros(x.shape, self._dtype) for block, x in arrays.items()}
        if not on_host(arrays):
            return compiled(arrays)
        with jax.core.eval_context():  # compute concrete rows at once, also inside a caller's jit
            answer = compiled({block: pad_rows(x) for block, x in arrays.items()})
            return jnp.asarray(np.asarray(answer)[:num_rows])

    def _rows(self, X: Any) -> dict[str, Array]:
        """Check rows and cast them to the functions' precision; by block, with pairs concatenated."""
        arrays = self._plain(X) or self._check_rows(X)
        if jnp.result_type(float) != self._dtype and self._dtype == np.float64:
            raise ValueError(
                "these functions were exported in float64: call them under jax.enable_x64(True), or export them in "
                "float32"
            )
        with np.errstate(over="ignore"):
            cast = {name: x.astype(self._dtype) for name, x in arrays.items()}
        for name, x in cast.items():
            if isinstance(x, np.ndarray) and np.isinf(x).any():
                column, row = np.argwhere(np.isinf(x).T)[0]
                raise ValueError(
                    f"block {name!r}, column {column}: a cell must be a finite number in {self._dtype}, or NaN if "
                    f"missing, got {arrays[name][row, column]}"
                )
        return cast

    def _plain(self, X: Any) -> dict[str, Array] | None:
        """Rows by block if they are numpy arrays of the right shapes, which need no other check; else None."""
        given = {"x": X} if self._single else X
        if not isinstance(given, dict) or given.keys() != self._blocks.keys():
            return None
        if not all(type(x) is np.ndarray and x.ndim == 2 and x.dtype.kind in "fiub" for x in given.values()):
            return None
        num_rows = len(next(iter(given.values())))
        shapes = {name: (num_rows, width * parts) for name, (width, parts) in self._blocks.items()}
        return given if all(given[name].shape == shape for name, shape in shapes.items()) else None

    def _check_rows(self, X: Any) -> dict[str, Array]:
        """Rows as a model of as many columns and arrays takes them."""
        from bayesnb.core.families import Family  # imports NumPyro
        from bayesnb.core.rows._checks import check_shapes

        known: dict[str, Any] = {**Family.known}
        one, pair = known["Normal"](), known["Binomial"](None)
        families = {name: one if parts == 1 else pair for name, (_, parts) in self._blocks.items()}
        return check_shapes(families, self._single, X, {name: width for name, (width, _) in self._blocks.items()})

    def _unpack(self, arrays: dict[str, Array]) -> Any:
        X = {
            name: arrays[name] if parts == 1 else (arrays[name][:, :width], arrays[name][:, width:])
            for name, (width, parts) in self._blocks.items()
        }
        return X["x"] if self._single else X


class ExportedEstimator:
    """An exported ``NaiveBayesClassifier``: it takes the same rows, with the same errors, and gives numpy arrays.

    Numbers are those of the exported functions, by default in float32. Sparse matrices are not supported. Few rows of
    plain cells, as a service gets them, are encoded here. All others are encoded and checked by an estimator without a
    fit, which is made from the file when it is first needed: it imports what the estimator does.

    Attributes:
        classifier: The ``ExportedClassifier`` of encoded rows.
        classes_: Labels [K], sorted.
        feature_names_in_: The names of the columns, or None if the estimator was fitted to an array.

    Example:
        >>> import io, bayesnb as nb
        >>> X, y, file = [[1.0], [2.0], [7.0], [8.0]], ["low", "low", "high", "high"], io.BytesIO()
        >>> nb.export(nb.NaiveBayesClassifier("normal").fit(X, y), file, platforms=["cpu"])
        >>> nb.load_exported(file.getvalue()).predict([[1.5], [9.0]]).tolist()
        ['low', 'high']
    """

    def __init__(
        self, classifier: ExportedClassifier, stored: Mapping[str, Any], arrays: Mapping[str, HostArray]
    ) -> None:
        self.classifier, self._stored, self._arrays = classifier, stored, arrays
        labels, dtype = stored["classes"]
        self.classes_ = np.array(labels, np.dtype(dtype))
        if len(self.classes_) != classifier.num_classes:
            raise ValueError(f"it has {len(self.classes_)} labels, and its functions {classifier.num_classes} classes")
        names = stored["feature_names"]
        self.feature_names_in_ = None if names is None else np.array(names, dtype=object)
        plain = stored["plain"]
        self._plain_rows = plain and PlainRows(
            plain["names"],
            {block: [Column(**column) for column in columns] for block, columns in plain["blocks"].items()},
            plain["single"],
        )

    def predict(self, X: Table) -> HostArray:
        """The most probable label of each row, [N]."""
        return self.classes_[self.predict_log_proba(X).argmax(axis=1)]

    def predict_proba(self, X: Table) -> HostArray:
        """p(y = k | x), [N, K]."""
        return np.asarray(self.classifier.predict_proba(self.encoded(X)))

    def predict_log_proba(self, X: Table) -> HostArray:
        """log p(y = k | x), [N, K]."""
        return np.asarray(self.classifier.predict_log_proba(self.encoded(X)))

    def predict_joint_log_proba(self, X: Table) -> HostArray:
        """log p(y = k, x), [N, K], including multinomial coefficients."""
        return np.asarray(self.classifier.log_joint(self.encoded(X)))

    def encoded(self, X: Table) -> Rows:
        """Checked rows as the functions take them."""
        plain = self._plain_rows.encode(X) if self._plain_rows else _numbers(X, self._stored["num_numbers"])
        return self._check_rows(X) if plain is None else plain

    def __repr__(self) -> str:
        return f"ExportedEstimator({self.classifier.fit}, classes {self.classes_.tolist()})"

    def _check_rows(self, X: Any) -> Any:
        from bayesnb.compute.arrays._cells import dense
        from bayesnb.core.rows._checks import check_rows

        model = self._without_fit.fit_
        encoded = self._without_fit.encoded(X)
        rows = {block: dense(x) for block, x in encoded.items()} if isinstance(encoded, dict) else encoded  # of words
        arrays = check_rows(model.families, model.single, rows)
        return arrays["x"] if model.single else arrays

    @cached_property
    def _without_fit(self) -> Any:
        """An estimator with the columns and labels of the file, and the model instead of a fit."""
        from bayesnb.core.storage._encoding import decode
        from bayesnb.tables.files.storage._saved_estimators import check_schema
        from bayesnb.tables.sklearn._estimator import NaiveBayesClassifier
        from bayesnb.tables.sklearn._settings import specification

        try:
            likelihoods, schema = (decode(self._stored[part], dict(self._arrays)) for part in ("likelihoods", "schema"))
            check_schema(schema)
        except Exception as error:  # a malformed description can raise anything
            raise StorageError(f"the file does not describe a valid estimator: {error!r}") from error
        estimator: Any = NaiveBayesClassifier(likelihoods)
        estimator.schema_, estimator.classes_, estimator.n_features_in_ = schema, self.classes_, len(schema.names)
        if self.feature_names_in_ is not None:
            estimator.feature_names_in_ = self.feature_names_in_
        estimator.fit_ = specification("posterior", 1.0, schema, self.classes_)
        estimator.prior_of_fit_ = estimator.class_prior
        return estimator


def _numbers(X: Any, num_columns: int | None) -> HostArray | None:
    """X itself if it is a numpy array of so many columns of finite numbers and NaN, else None."""
    if num_columns is None or type(X) is not np.ndarray or X.ndim != 2 or X.dtype.kind not in "fiub":
        return None
    if X.shape[1] != num_columns or not X.size or (np.abs(X) > LARGEST_CELL).any():
        return None
    return X
