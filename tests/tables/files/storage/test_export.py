"""Exported functions answer as the fit does, for any number of rows and without bayesnb; other files are refused."""

import json
import subprocess
import sys

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from safetensors.numpy import save_file

import bayesnb as nb
from bayesnb.core.storage import _tensors as tensors
from bayesnb.tables.files.storage._export import PLATFORMS, export
from bayesnb.tables.files.storage._exported import FUNCTIONS, ExportedClassifier, load_exported
from tests import cases
from tests.tables.files.fits import FITS, MODEL, X, Y

PREDICTIONS = ("predict_proba", "predict_log_proba", "log_joint", "log_density")
DOUBLE = jnp.result_type(float) == np.float64
TIGHT = {"rtol": 1e-12, "atol": 1e-12} if DOUBLE else {"rtol": 1e-6, "atol": 1e-6}
CLOSE = {"rtol": 1e-9, "atol": 1e-9} if DOUBLE else {"rtol": 1e-5, "atol": 1e-5}


def served(fit, tmp_path, **options) -> ExportedClassifier:
    export(fit, tmp_path / "model.bin", **{"platforms": ["cpu"], **options})  # one is lowered in a fraction of the time
    return load_exported(tmp_path / "model.bin")


def assert_equal(found, fit, rows):
    for name in PREDICTIONS:
        answer = getattr(found, name)(rows)
        assert isinstance(answer, jax.Array)
        assert_allclose(answer, getattr(fit, name)(rows), err_msg=name, **CLOSE)
    assert_array_equal(found.predict(rows), fit.predict(rows))


@pytest.mark.parametrize(
    ("name", "fit"),
    [
        pytest.param("mixed", nb.fit_posterior, marks=pytest.mark.slow),
        pytest.param("ragged", nb.fit_posterior, marks=pytest.mark.slow),
        pytest.param("mixed", nb.fit_mle, marks=pytest.mark.slow),
        pytest.param("ragged", nb.fit_mle, marks=pytest.mark.slow),
        ("trials", nb.fit_map),
    ],
)
def test_one_file_equals_the_fit_for_every_number_of_rows(name, fit, tmp_path, rng):
    """Missing cells, and rows that are impossible under the MLE of some classes."""
    case = cases.make(name)
    fitted = fit(*case)
    found = served(fitted, tmp_path)
    for size in (1, 7, 1000):
        some = case.rows(rng.integers(0, len(case.y), size))
        for function in FUNCTIONS:
            assert_allclose(getattr(found, function)(some), getattr(fitted, function)(some), **CLOSE)


@pytest.mark.slow
def test_rows_of_jax_are_answered_as_by_the_fit_inside_jit(tmp_path, rng):
    """Rows at 1e4 with a scale of 100, which in float32 a product would not score well enough."""
    model, rows, y = cases.make("normal")
    fitted = nb.fit_map(model, rows, y)
    found, some = served(fitted, tmp_path), jnp.asarray(rows[rng.integers(0, len(y), 100)], float)
    for function in FUNCTIONS:
        expected = jax.jit(getattr(fitted, function))(some)
        assert_allclose(getattr(found, function)(some), expected, **TIGHT)
        assert_allclose(jax.jit(getattr(found, function))(some), expected, **TIGHT)


@pytest.mark.filterwarnings("ignore::UserWarning")  # so few rows are not to be trusted
@pytest.mark.parametrize("kind", cases.by_default(FITS, "averaged", "draws of hyperparameters"))
def test_every_kind_of_fit(kind, tmp_path):
    fit = FITS[kind]()
    found = served(fit, tmp_path)
    assert type(fit).__name__ in repr(found)
    every = np.array(np.meshgrid(*[[0, 1, np.nan]] * 3)).reshape(3, -1).T
    if isinstance(fit.model.families.get("x"), nb.Multinomial):  # whose rows are whole, or missing
        every = every[np.isin(np.isnan(every).sum(axis=1), (0, 3))]
    assert_equal(found, fit, every)


@pytest.mark.slow
def test_rows_that_are_impossible_under_every_class_rank_as_in_the_fit(tmp_path):
    model = nb.NaiveBayes(nb.Bernoulli())
    fit = nb.PointEstimate(model, {"class_probs": [0.5, 0.5], "x_probs": [[0.0, 0.0, 0.3], [0.0, 1.0, 0.6]]})
    found, rows = served(fit, tmp_path), np.array([[1, 1, 1], [1, 1, 0], [1, 0, 1], [0, 0, 1], [0, 1, 1]])
    assert np.isneginf(found.log_density(rows)).tolist() == [True, True, True, False, False]
    assert_equal(found, fit, rows)
    assert_array_equal(found.predict(rows), [1, 1, 0, 0, 1])


@pytest.mark.slow
@pytest.mark.parametrize(
    ("family", "fit"),
    [
        (nb.Normal(), nb.fit_posterior),
        pytest.param(nb.Normal(), nb.fit_map, marks=pytest.mark.slow),
        pytest.param(nb.MultivariateNormal(), nb.fit_posterior, marks=pytest.mark.slow),
    ],
)
def test_gradients_flow_through_a_function_inside_jit(family, fit, tmp_path, rng):
    rows = rng.normal(size=(40, 3)) + np.arange(40)[:, None] % 2
    fitted = fit(nb.NaiveBayes(family), rows, np.arange(40) % 2)
    found, rows = served(fitted, tmp_path), jnp.asarray(rows[:5], float).at[2, 1].set(jnp.nan)

    def loss(classifier):
        return jax.jit(jax.grad(lambda x: classifier.predict_log_proba(x)[:, 1].sum() + classifier.log_joint(x).sum()))

    expected = loss(fitted)(rows)
    assert np.abs(expected[0]).min() > 1e-3
    assert_allclose(loss(found)(rows), expected, **TIGHT)


ALONE = """
import sys, jax, numpy as np, safetensors.numpy
stored = safetensors.numpy.load_file(sys.argv[1])
rows = np.load(sys.argv[2])
for name in sys.argv[3:]:
    function = jax.export.deserialize(bytearray(stored[name])).call
    print(np.asarray(function(rows)).tolist())
assert not [name for name in sys.modules if name.startswith(("bayesnb", "numpyro"))]
"""


def test_a_program_without_bayesnb_runs_the_functions(tmp_path):
    model, rows, y = cases.make("informed")
    fit, some = nb.fit_posterior(model, rows, y), rows[:5].astype(jnp.result_type(float))
    export(fit, tmp_path / "model.bin")
    np.save(tmp_path / "rows.npy", some)
    command = [sys.executable, "-c", ALONE, tmp_path / "model.bin", tmp_path / "rows.npy", *FUNCTIONS]
    ran = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr
    for name, answer in zip(FUNCTIONS, ran.stdout.splitlines(), strict=True):
        assert_allclose(json.loads(answer), getattr(fit, name)(some), **TIGHT)


@pytest.mark.parametrize(
    "family", [nb.Bernoulli(), pytest.param(nb.MultivariateNormal(), marks=pytest.mark.slow)], ids=["cells", "rows"]
)
def test_platforms_are_those_asked_for(family, tmp_path):
    fit = nb.fit_posterior(nb.NaiveBayes(family), X, Y)
    export(fit, tmp_path / "model.bin")
    assert all(one.platforms == PLATFORMS for one in load_exported(tmp_path / "model.bin").functions.values())
    assert served(fit, tmp_path, platforms=["cpu"]).functions["log_joint"].platforms == ("cpu",)
    for wrong in (["abacus"], "cpu", []):
        with pytest.raises(nb.StorageError, match=r"must be a list of some of \('cpu', 'cuda', 'tpu', 'rocm'\), got"):
            export(fit, tmp_path / "other", platforms=wrong)
    assert not (tmp_path / "other").exists()


@pytest.mark.slow
def test_no_rows_and_rows_of_other_types(tmp_path):
    fit = nb.fit_posterior(MODEL, X, Y)
    found = served(fit, tmp_path)
    assert_allclose(jax.jit(lambda: found.predict_proba(X))(), fit.predict_proba(X), **CLOSE)
    for empty in (np.zeros((0, 3)), jnp.zeros((0, 3))):
        assert found.predict_proba(empty).shape == (0, 2)
        assert found.predict(empty).shape == found.log_density(empty).shape == (0,)
    for dtype in (bool, np.uint8, np.int64, ">f8"):
        assert_equal(found, fit, X.astype(dtype))
    assert_equal(found, fit, X.tolist())


@pytest.mark.slow
def test_float64_functions_need_float64(tmp_path):
    with jax.enable_x64(True):
        fit = nb.fit_posterior(nb.NaiveBayes(nb.Normal()), X * 1.5, Y)
        found = served(fit, tmp_path)
        assert_equal(found, fit, X * 1.5)
        assert found.log_joint(X).dtype == np.float64
    with jax.enable_x64(False):
        with pytest.raises(ValueError, match=r"exported in float64: call them under jax\.enable_x64\(True\)"):
            found.predict(X)
        single = served(fit, tmp_path)
    with jax.enable_x64(True):
        assert single.log_joint(X).dtype == np.float32


def test_wrong_rows_are_told_in_a_sentence(tmp_path):
    one = served(nb.fit_posterior(MODEL, X, Y), tmp_path)
    model = nb.NaiveBayes({"a": nb.Bernoulli(), "pair": nb.Binomial(None)})
    two = served(nb.fit_posterior(model, {"a": X, "pair": (X, X + 1)}, Y), tmp_path)
    for found, rows, message in [
        (one, {"x": X}, "the model has one block, so X is an array"),
        (one, X[:, :2], "block 'x' has 2 columns, the model has 3"),
        (one, X[0], r"must be an array \[N, D\], got shape \(3,\)"),
        (one, X.astype(str), "must hold numbers"),
        (one, (X, X), r"block 'x' must be one array \[N, D\], got a tuple of 2"),
        (one, np.where(X, np.inf if DOUBLE else 1e39, 0.0), "block 'x', column 0: a cell must be a finite number"),
        (two, X, "the model has the blocks 'a', 'pair': X is a dict"),
        (two, {"a": X, "b": X}, "the names must be the same"),
        (two, {"a": X, "pair": X}, r"block 'pair' must be a pair \(successes, totals\), got 1 array"),
        (two, {"a": X, "pair": (X, X[:1])}, "must have one shape"),
        (two, {"a": X[:2], "pair": (X, X)}, "the same number of rows"),
    ]:
        with pytest.raises(ValueError, match=message):
            found.predict_proba(rows)


def test_what_predicts_no_class_probabilities_is_refused(tmp_path):
    for given_, kind in [
        (MODEL, "NaiveBayes"),
        (nb.sufficient_statistics(MODEL, X, Y), "ModelStatistics"),
        (nb.fit_multilabel(MODEL, X, Y[:, None]), "MultiLabel"),
        ("fit", "str"),
    ]:
        with pytest.raises(nb.StorageError, match=f"a fit that has predict_log_proba, got {kind}"):
            export(given_, tmp_path / "model.bin")
    with pytest.raises(nb.StorageError, match="has no values yet"):
        jax.jit(lambda y: export(nb.fit_posterior(nb.NaiveBayes(nb.Bernoulli(), num_classes=2), X, y), tmp_path / "m"))(
            jnp.asarray(Y)
        )
    assert not list(tmp_path.iterdir())


def test_a_missing_package_is_named(tmp_path, monkeypatch):
    def absent(*_, **__):
        raise ImportError

    served(nb.fit_posterior(MODEL, X, Y), tmp_path)
    monkeypatch.setattr(jax.export, "deserialize", absent)
    monkeypatch.setattr(jax.export.Exported, "serialize", absent)
    with pytest.raises(nb.StorageError, match="pip install flatbuffers"):
        load_exported(tmp_path / "model.bin")
    with pytest.raises(nb.StorageError, match="pip install flatbuffers"):
        export(nb.fit_posterior(MODEL, X, Y), tmp_path / "other")


# files


def test_files_of_others(tmp_path):
    path = tmp_path / "model.bin"
    with pytest.raises(nb.StorageError, match="cannot be read: No such file"):
        load_exported(path)
    with pytest.raises(nb.StorageError, match="cannot be written: No such file or directory"):
        export(nb.fit_mle(MODEL, X, Y), tmp_path / "nowhere" / "model.bin")
    path.write_bytes(b"")
    with pytest.raises(nb.StorageError, match=r"is damaged, or was not written by nb\.export"):
        load_exported(path)
    save_file({"weight": np.ones(3)}, path)
    with pytest.raises(nb.StorageError, match="it is not a bayesnb file"):
        load_exported(path)
    nb.save(nb.fit_posterior(MODEL, X, Y), path)
    with pytest.raises(nb.StorageError, match=r"'bayesnb result \d' .* give a file that nb\.export wrote"):
        load_exported(path)
    for arrays in ({}, dict.fromkeys(FUNCTIONS, np.zeros(9, np.uint8))):
        tensors.write(path, {"format": "bayesnb exported 1", "fit": "Posterior", "jax": "99.0"}, arrays)
        with pytest.raises(nb.StorageError, match=r"functions of JAX 99\.0 that JAX [\d.]+ cannot read"):
            load_exported(path)
    tensors.write(path, {"format": "bayesnb exported 2"}, {})
    with pytest.raises(nb.StorageError, match="update bayesnb"):
        load_exported(path)


@pytest.mark.parametrize("name", cases.SEVERAL)
def test_jax_exports_predictions_of_any_number_of_rows(name):
    """By ``jax.export`` itself, with a symbol for the number: what it reads again takes each batch."""
    case = cases.make(name)
    posterior, (n,) = nb.fit_posterior(case.model, case.X, case.y), jax.export.symbolic_shape("n")
    rows = jax.tree.map(lambda a: np.asarray(a, np.float32), case.X)
    shapes = jax.tree.map(lambda a: jax.ShapeDtypeStruct((n, *a.shape[1:]), a.dtype), rows)
    written = jax.export.export(jax.jit(posterior.predict_proba))(shapes).serialize()
    for size in (1, 5, cases.N):
        batch = jax.tree.map(lambda a, size=size: a[:size], rows)
        found = jax.export.deserialize(written).call(batch)
        assert_allclose(found, posterior.predict_proba(batch), atol=1e-5)  # float32
