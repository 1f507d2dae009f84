"""Where ``export`` writes nothing it says why, and what to do; its graphs are tested with ``to_onnx``."""

import io
from copy import deepcopy

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import bayesnb as nb
from tests.tables.files.fits import MODEL, X, Y


def test_another_ending_is_refused_and_names_the_page(tmp_path):
    fit = nb.fit_posterior(MODEL, X, Y)
    clf = nb.NaiveBayesClassifier("normal").fit(X, Y)
    for place in (tmp_path / "model.bin", str(tmp_path / "onnx"), io.BytesIO()):
        for one in (fit, clf):
            with pytest.raises(
                nb.StorageError, match=r"a file named \.onnx, got .*docs/how_to/serve_with_jax_alone\.md"
            ):
                nb.export(one, place)
    assert not list(tmp_path.iterdir())


def test_what_reads_the_files_of_before_has_left():
    with pytest.raises(AttributeError, match=r"nb\.load_exported has left: jax\.export\.deserialize"):
        nb.load_exported  # noqa: B018


def test_what_predicts_no_class_probabilities_is_refused(tmp_path):
    for given, kind in [
        (MODEL, "NaiveBayes"),
        (nb.sufficient_statistics(MODEL, X, Y), "ModelStatistics"),
        (nb.fit_multilabel(MODEL, X, Y[:, None]), "MultiLabel"),
        ("fit", "str"),
    ]:
        with pytest.raises(nb.StorageError, match=f"a fit that has predict_log_proba, got {kind}"):
            nb.export(given, tmp_path / "model.onnx")
    model = nb.NaiveBayes(nb.Bernoulli(), num_classes=2)
    with pytest.raises(nb.StorageError, match="has no values yet"):
        jax.jit(lambda y: nb.export(nb.fit_posterior(model, X, y), tmp_path / "m.onnx"))(jnp.asarray(Y))
    assert not list(tmp_path.iterdir())


def test_an_estimator_that_cannot_be_exported_says_why(tmp_path):
    with pytest.raises(nb.StorageError, match="has not been fitted"):
        nb.export(nb.NaiveBayesClassifier(), tmp_path / "model.onnx")
    clf = nb.NaiveBayesClassifier("normal").fit(X, Y)
    with pytest.raises(nb.StorageError, match="class_prior was set to 'uniform' after the fit"):
        nb.export(deepcopy(clf).set_params(class_prior="uniform"), tmp_path / "model.onnx")
    dated = nb.NaiveBayesClassifier().fit([[1.0], [2.0]], np.array(["2020-01-01", "2020-01-02"], "datetime64[D]"))
    with pytest.raises(nb.StorageError, match="its labels are dates: convert them"):
        nb.export(dated, tmp_path / "model.onnx")


def test_a_folder_that_does_not_exist_is_named(tmp_path):
    with pytest.raises(nb.StorageError, match="cannot be written: No such file or directory"):
        nb.export(nb.fit_mle(MODEL, X, Y), tmp_path / "nowhere" / "model.onnx")
