"""Results saved to files, bytes and open files come back with the same type and numbers; others are refused."""

import io
import json
import os
import struct
import tracemalloc
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import field, replace
from functools import cache

import jax
import jax.numpy as jnp
import numpy as np
import numpyro.distributions as dist
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from safetensors.numpy import save_file
from scipy import sparse

import bayesnb as nb
from bayesnb.arrays._class_table import is_class_table
from bayesnb.arrays._placement import pytree
from bayesnb.files.storage import _tensors as tensors
from tests import cases
from tests.files.identical import assert_identical, saved

X, Y = np.array([[0, 1, 1], [1, 0, 1], [1, 1, 0], [0, 0, 1], [1, 1, 1], [0, 1, 0]]), np.array([0, 1, 1, 0, 1, 0])
MODEL = nb.NaiveBayes(nb.Bernoulli(), class_concentration=2.0)
KEY, STEPS = jax.random.key(0), {"num_steps": np.arange(4)}
NUTS = {"key": KEY, "num_warmup": 20, "num_samples": 30, "num_chains": 2, "progress_bar": False}
HYPER = nb.NaiveBayes(nb.Bernoulli(a=dist.Gamma(2.0, 1.0), b=dist.TruncatedNormal(1.0, 2.0, low=0.1)))
OWN = nb.NaiveBayes(nb.Bernoulli(), priors={"x_probs": dist.Uniform(0.2, 0.8)})

OPAQUE = dist.TransformedDistribution(dist.Normal(), dist.transforms.SoftplusTransform())

RESULTS = {
    "model": lambda: MODEL,
    "hyperpriors": lambda: HYPER,
    "own priors": lambda: OWN,
    "statistics": lambda: nb.sufficient_statistics(MODEL, X, Y),
    "MLE": lambda: nb.fit_mle(MODEL, X, Y),
    "MAP of JAX rows": lambda: nb.fit_map(MODEL, jnp.asarray(X), jnp.asarray(Y)),
    "posterior": lambda: nb.fit_posterior(MODEL, X, Y),
    "another population": lambda: nb.fit_posterior(MODEL, X, Y).with_class_probs([0.3, 0.7]),
    "tempered": lambda: nb.temper(nb.fit_posterior(MODEL, X, Y), X, Y, per_feature=True),
    "learned prior": lambda: nb.fit_empirical(MODEL, X, Y),
    "averaged": lambda: nb.fit_averaged(MODEL, X, Y),
    "discounted": lambda: nb.fit_posterior(MODEL, statistics=nb.discount(nb.sufficient_statistics(MODEL, X, Y), 0.3)),
    "learned forgetting": lambda: nb.fit_forgetting(MODEL, X, Y).fit,
    "EM": lambda: nb.fit_em(MODEL, X, np.where(Y == 1, -1, Y), max_iterations=3),
    "bootstrap": lambda: nb.bootstrap(MODEL, X, Y, key=jax.random.key(1), replicates=5),
    "labels": lambda: nb.fit_multilabel(MODEL, X, np.stack([Y, 1 - Y], axis=1)),
    "given draws": lambda: nb.Draws(MODEL.resolve(X, Y), nb.fit_posterior(MODEL, X, Y).sample(KEY, 4), STEPS, 2),
    "draws": lambda: nb.fit_nuts(MODEL, X, Y, **NUTS),
    "draws of hyperpriors": lambda: nb.fit_nuts(HYPER, X, Y, **NUTS),
    "draws of own priors": lambda: nb.fit_nuts(OWN, X, Y, **NUTS),
}


@pytest.mark.filterwarnings("ignore::UserWarning")  # so few rows and draws are not to be trusted
@pytest.mark.parametrize("kind", cases.by_default(RESULTS, *(kind for kind in RESULTS if not kind.startswith("draws"))))
def test_every_result_comes_back_to_the_bit(kind, tmp_path):
    fit = RESULTS[kind]()
    again = nb.load(saved(fit, tmp_path))
    assert type(again) is type(fit)
    assert repr(again) == repr(fit)
    assert_identical(again, fit)
    if hasattr(fit, "predict_proba"):
        assert_array_equal(again.predict_proba(X), fit.predict_proba(X))


def parts(path):
    """The names of the fields of a saved result."""
    return {*tensors.read(path)[0]["result"]["node"][1]}


@pytest.mark.parametrize("name", cases.NAMES)
def test_every_family_comes_back_from_its_causes_as_the_host_updates_alike_each_time(name, tmp_path):
    model, rows, y = cases.make(name)
    fit = nb.fit_posterior(model, rows, y)
    assert_identical(fit.prior.update(fit.statistics), fit.prior.update(fit.statistics))
    beside = {"powers"} if fit.powers is not None else set()
    assert parts(saved(fit, tmp_path)) == {"prior", "statistics"} | beside
    again = nb.load(tmp_path / "fit.bayesnb")
    assert_identical(again, fit)
    assert_array_equal(again.log_joint(rows), fit.log_joint(rows))
    assert again.log_evidence == fit.log_evidence
    moved = fit.with_class_probs(np.full(fit.statistics.num_classes, 1 / fit.statistics.num_classes))
    assert parts(saved(moved, tmp_path)) == {"prior", "statistics", "class_probs"} | beside
    assert_identical(nb.load(tmp_path / "fit.bayesnb"), moved)


def test_what_xla_computed_in_another_way_is_stored_as_it_is(tmp_path):
    rows = jnp.asarray(np.random.default_rng(0).normal(3.0, 7.0, (50, 8)))
    model = nb.NaiveBayes(nb.Normal(), num_classes=2)
    fit = jax.jit(lambda X, y: nb.fit_posterior(model, X, y))(rows, jnp.arange(50) % 2)
    assert_identical(nb.load(saved(fit, tmp_path)), fit)
    rounded = replace(fit, model=jax.tree.map(lambda leaf: jnp.nextafter(leaf, 2 * leaf), fit.model))
    assert parts(saved(rounded, tmp_path)) == {"prior", "statistics", "model"}
    assert_identical(nb.load(tmp_path / "fit.bayesnb"), rounded)
    other = replace(fit, model=fit.prior)
    with pytest.raises(nb.StorageError, match="the model of a posterior must be its prior, updated by"):
        nb.save(other, tmp_path / "other")


def test_fields_of_an_own_family_have_any_name(tmp_path):
    @pytree
    class Renamed(nb.Bernoulli):
        model: str = field(default="plain", metadata={"static": True})
        params: int = field(default=2, metadata={"static": True})

    try:
        model = nb.NaiveBayes(Renamed(model="other"), num_classes=2)
        again = nb.load(saved(model, tmp_path))
        assert (again.families["x"].model, again.families["x"].params) == ("other", 2)
    finally:
        del nb.Family.known["Renamed"]


def test_what_comes_back_can_be_fitted_and_used_inside_jit(tmp_path):
    model, fit = (nb.load(saved(one, tmp_path)) for one in (MODEL, nb.fit_posterior(MODEL, X, Y)))
    assert_identical(nb.fit_posterior(model, X, Y), fit)
    rows = jnp.asarray(X)
    assert_array_equal(jax.jit(lambda rows: fit.predict(rows))(rows), fit.predict(rows))


@pytest.mark.slow
def test_priors_of_one_column_each_come_back(tmp_path):
    prior = dist.TruncatedNormal(jnp.array([0.2, 0.4, 0.9]), 0.1, low=0.0, high=1.0)
    model = nb.load(saved(nb.NaiveBayes(nb.Bernoulli(), priors={"x_probs": prior}), tmp_path))
    with jax.numpy_rank_promotion("allow"):  # NumPyro's own distributions promote ranks
        found, expected = (one.log_prob(jnp.array([0.3, 0.5, 0.7])) for one in (model.priors["x_probs"], prior))
    assert_array_equal(found, expected)


@pytest.mark.parametrize("fit", [nb.fit_posterior, nb.fit_averaged])
def test_doubles_of_jax_stay_doubles(fit, tmp_path):
    with jax.enable_x64(True):
        made = fit(MODEL, jnp.asarray(X), jnp.asarray(Y))
    assert_identical(nb.load(saved(made, tmp_path)), made)


def test_tables_of_many_classes_stay_sparse(tmp_path):
    counts = sparse.random(9_000, 3_000, density=0.002, random_state=0, format="csr")
    counts.data = np.ceil(counts.data * 5)
    fit = nb.fit_posterior(nb.NaiveBayes(nb.Multinomial()), counts, np.arange(9_000) % 6_000)
    assert is_class_table(fit.prior.families["x"].concentration)
    tracemalloc.start()
    try:
        assert_identical(nb.load(saved(fit, tmp_path)), fit)
        assert tracemalloc.get_traced_memory()[1] < 64e6  # a dense table is 144 MB
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"x": 1}, "save takes a bayesnb fit, estimator, model or statistics, got dict"),
        (
            nb.NaiveBayes(nb.Bernoulli(), priors={"x_probs": OPAQUE}),
            "this NaiveBayes cannot be saved",
        ),
    ],
)
def test_what_is_no_result_is_refused(given, message, tmp_path):
    with pytest.raises(nb.StorageError, match=message):
        nb.save(given, tmp_path / "fit")
    assert not list(tmp_path.iterdir())


def test_a_class_with_the_estimators_name_is_not_the_estimator(tmp_path):
    other = type("NaiveBayesClassifier", (), {"__module__": "bayesnb.sklearn._estimator"})()
    with pytest.raises(nb.StorageError, match=r"save takes a bayesnb fit, .* got NaiveBayesClassifier"):
        nb.save(other, tmp_path / "fit")


def test_tracers_are_refused(tmp_path):
    model = nb.NaiveBayes(nb.Bernoulli(), num_classes=2)
    with pytest.raises(nb.StorageError, match="has no values yet"):
        jax.jit(lambda y: nb.save(nb.fit_posterior(model, X, y), tmp_path / "fit"))(jnp.asarray(Y))


def test_a_file_that_cannot_be_written_leaves_the_old_one(tmp_path, monkeypatch):
    path = saved(MODEL, tmp_path)
    before = path.read_bytes()

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(nb.StorageError, match=r"cannot be written: No space left on device"):
        nb.save(nb.fit_posterior(MODEL, X, Y), path)
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]
    with pytest.raises(nb.StorageError, match="cannot be written: No such file or directory"):
        nb.save(MODEL, tmp_path / "nowhere" / "fit")


@pytest.mark.slow
def test_several_writers_and_a_reader(tmp_path):
    """Whoever comes, the file is whole."""
    fits = [
        nb.fit_posterior(nb.NaiveBayes(nb.Normal()), np.full((4, 5_000), [[v], [1], [2], [3]]), Y[:4]) for v in (4, 5)
    ]
    path = saved(fits[0], tmp_path)

    def write(turn):
        nb.save(fits[turn % 2], path)
        return nb.load(path)

    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(write, range(24)))
    assert all(isinstance(fit, nb.Posterior) for fit in found)
    assert list(tmp_path.iterdir()) == [path]


def test_other_files_and_links_stay(tmp_path):
    (tmp_path / "fit.bayesnb.new").write_text("mine")
    real = saved(MODEL, tmp_path)
    link = tmp_path / "link"
    link.symlink_to(real)
    nb.save(nb.fit_posterior(MODEL, X, Y), link)
    assert link.is_symlink()
    assert isinstance(nb.load(real), nb.Posterior)
    assert (tmp_path / "fit.bayesnb.new").read_text() == "mine"


@pytest.mark.parametrize("name", ["", ".", "/", "a\0b"])
def test_names_of_no_file(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(nb.StorageError, match="cannot be written"):
        nb.save(MODEL, name)
    with pytest.raises(nb.StorageError):
        nb.load(name)


@pytest.mark.parametrize("dtype", [">f8", np.longdouble, np.float16])
def test_numbers_of_other_kinds_are_the_machines_own(dtype, tmp_path):
    model = nb.NaiveBayes(nb.Bernoulli(a=np.array([1.0, 2.0, 3.0], dtype)))
    assert_identical(nb.load(saved(model, tmp_path)), model)


def test_a_foreign_file_with_types_that_numpy_has_not(tmp_path):
    header = json.dumps({"w": {"dtype": "F8_E4M3", "shape": [2], "data_offsets": [0, 2]}}).encode()
    (tmp_path / "foreign").write_bytes(struct.pack("<Q", len(header)) + header + b"\0\0")
    with pytest.raises(nb.StorageError, match="it is not a bayesnb file"):
        nb.load(tmp_path / "foreign")


def test_files_that_are_not_there_or_of_others(tmp_path):
    with pytest.raises(nb.StorageError, match="cannot be read: No such file"):
        nb.load(tmp_path / "fit")
    with pytest.raises(nb.StorageError, match="cannot be read: it is a folder"):
        nb.load(tmp_path)
    (tmp_path / "empty").touch()
    with pytest.raises(nb.StorageError, match=r"is damaged, or was not written by nb\.save"):
        nb.load(tmp_path / "empty")
    save_file({"weight": np.ones(3)}, tmp_path / "foreign")
    with pytest.raises(nb.StorageError, match="it is not a bayesnb file"):
        nb.load(tmp_path / "foreign")
    pickled = tmp_path / "pickled"
    np.save(pickled, np.array([print], dtype=object), allow_pickle=True)
    with pytest.raises(nb.StorageError, match="is damaged"):
        nb.load(f"{pickled}.npy")


def test_other_formats_are_named(tmp_path):
    for written, advice in (("bayesnb result 3", "update bayesnb"), ("bayesnb stream 2", "a file that nb.save wrote")):
        tensors.write(tmp_path / "fit", {"format": written, "result": None}, {})
        with pytest.raises(nb.StorageError, match=f"has the format '{written}' .*{advice}"):
            nb.load(tmp_path / "fit")


@pytest.mark.parametrize(
    "code",
    [
        None,
        {"node": ["os.system", {}]},
        {"node": ["Posterior", {}]},
        {"node": ["PointEstimate", {"model": None, "params": None}]},
        {"node": ["Bootstrap", {"estimate": {"tuple": []}, "params": {"dict": []}}]},
        {"node": ["ModelStatistics", {"class_counts": {"array": "0"}, "blocks": {"dict": [["x", 1]]}}]},
        {"distribution": ["warnings", {"dict": []}]},
        {"distribution": ["GaussianRandomWalk", {"dict": [["scale", 1.0], ["num_steps", -5]]}]},
        {"distribution": ["Normal", {"dict": [["scale", "no number"]]}]},
        {"array": "7"},
        {"call": "print"},
        {"array": "0", "tuple": []},
        [1],
    ],
)
def test_a_header_that_is_no_result_is_refused(code, tmp_path):
    tensors.write(tmp_path / "fit", {"format": "bayesnb result 1", "result": code}, {"0": np.ones(2)})
    with pytest.raises(nb.StorageError, match="does not contain a valid bayesnb result"):
        nb.load(tmp_path / "fit")


def test_a_header_that_is_too_deep(tmp_path):
    deep = "[" * 100_000 + "]" * 100_000
    save_file({}, tmp_path / "deep", metadata={"bayesnb": deep, "digest": tensors._digest(deep, {})})
    with pytest.raises(nb.StorageError, match="is damaged"):
        nb.load(tmp_path / "deep")


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """A fit, and its file."""
    fit = nb.fit_posterior(nb.NaiveBayes({"a": nb.Bernoulli(), "b": nb.Normal()}), {"a": X, "b": X * 1.5}, Y)
    return fit, saved(fit, tmp_path_factory.mktemp("storage")).read_bytes()


@settings(max_examples=200, deadline=None)
@given(data=st.data())
def test_a_file_that_is_cut_or_changed_is_refused(data, whole, tmp_path_factory):
    (fit, content), path = whole, tmp_path_factory.getbasetemp() / "changed.bayesnb"
    place = data.draw(st.integers(0, len(content) - 1))
    bit = data.draw(st.integers(0, 7) | st.none())
    end = [] if bit is None else [content[place] ^ (1 << bit), *content[place + 1 :]]
    path.write_bytes(bytes([*content[:place], *end]))
    with suppress(nb.StorageError):  # a changed byte of padding has no meaning
        assert_identical(nb.load(path), fit)


def test_the_header_is_json_that_others_can_read(whole):
    content = whole[1]
    (size,) = struct.unpack("<Q", content[:8])
    header = json.loads(json.loads(content[8 : 8 + size])["__metadata__"]["bayesnb"])
    assert header["format"] == "bayesnb result 2"
    assert header["result"]["node"][0] == "Posterior"
    assert set(header["result"]["node"][1]) == {"prior", "statistics"}


# results saved to, and loaded from, bytes and open files


FLAGS, LABELS = np.array([[0, 1], [1, 1], [1, 0], [0, 0]]), [0, 1, 1, 0]


@cache
def fit():
    return nb.fit_posterior(nb.NaiveBayes(nb.Bernoulli()), FLAGS, LABELS)


@pytest.fixture(scope="module")
def content():
    file = io.BytesIO()
    nb.save(fit(), file)
    return file.getvalue()


@pytest.mark.parametrize("given", [bytes, bytearray, memoryview, io.BytesIO])
def test_bytes_are_the_file(given, content, tmp_path):
    (tmp_path / "fit").write_bytes(content)
    assert nb.load(tmp_path / "fit").log_evidence == fit().log_evidence
    np.testing.assert_array_equal(nb.load(given(content)).predict_proba(FLAGS), fit().predict_proba(FLAGS))


def test_files_that_are_open(tmp_path):
    with (tmp_path / "fit").open("wb") as file:
        nb.save(fit(), file)
    with (tmp_path / "fit").open("rb") as file:
        assert nb.load(file).log_evidence == fit().log_evidence


def test_exported_functions():
    file = io.BytesIO()
    nb.export(fit(), file, platforms=["cpu"])
    served = nb.load_exported(file.getvalue())
    np.testing.assert_allclose(served.predict_proba(FLAGS), fit().predict_proba(FLAGS), rtol=1e-5)
    with pytest.raises(nb.StorageError, match="the content has the format 'bayesnb exported 1'"):
        nb.load(file.getvalue())


def test_every_part_of_the_content_counts(content):
    for position in range(0, len(content), 37):
        changed = bytearray(content)
        changed[position] ^= 1
        with pytest.raises(nb.StorageError, match="the content is damaged"):
            nb.load(changed)
    with pytest.raises(nb.StorageError, match="the content is damaged"):
        nb.load(content[:-1])
    with pytest.raises(nb.StorageError, match=r"the content is empty: after writing a file, seek\(0\)"):
        nb.load(b"")


def test_files_that_are_closed_or_open_for_the_other(tmp_path):
    path = tmp_path / "fit"
    nb.save(fit(), path)
    with path.open("rb") as file, pytest.raises(nb.StorageError, match="cannot write: open it again"):
        nb.save(fit(), file)
    with pytest.raises(nb.StorageError, match="is closed, or cannot read: open it again"):
        nb.load(file)


def test_other_places_are_refused():
    with pytest.raises(nb.StorageError, match=r"^expected a path, bytes, or a file open for reading bytes, got int$"):
        nb.load(5)
    with pytest.raises(nb.StorageError, match=r"a file open for writing bytes, got a file of text$"):
        nb.save(fit(), io.StringIO())
