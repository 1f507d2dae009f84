"""What the estimator infers from the first rows: it is kept, and is no reason to refuse later numbers."""

import pickle
import warnings

import jax.numpy as jnp
import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

import bayesnb as nb

RNG = np.random.default_rng(3)
N = 60
Y = np.arange(N) % 2
FRAME = pd.DataFrame(
    {
        "rooms": RNG.integers(1, 5, N),
        "flag": RNG.integers(0, 2, N),
        "size": RNG.normal(Y, 1.0),
        "colour": RNG.choice(["red", "green", "blue"], N),
        "name": [f"house {i}" for i in range(N)],
        "town": "one",
    }
)
KINDS = {
    "rooms": "categorical", "flag": "bernoulli", "size": "normal", "colour": "categorical", "name": "skip",
    "town": "skip",
}  # fmt: skip
NAMED = "column 'name' has a different text in nearly every row and is left out; to keep it, write likelihoods="


def fitted(likelihoods=KINDS, frame=FRAME):
    return nb.NaiveBayesClassifier(likelihoods).fit(frame, Y)


def inferred(frame=FRAME, y=Y):
    with pytest.warns(UserWarning, match=NAMED):
        return nb.NaiveBayesClassifier().fit(frame, y)


@pytest.mark.slow
def test_what_is_left_out_makes_no_difference_and_is_said():
    clf = inferred()
    assert clf.likelihoods_ == KINDS
    used = FRAME[["rooms", "flag", "size", "colour"]]
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # nothing is said of a column with one value
        alone = nb.NaiveBayesClassifier().fit(used, Y)
        assert_array_equal(clf.predict_proba(FRAME), alone.predict_proba(used))
        assert_array_equal(clf.predict_proba(FRAME.assign(name="x", town=3.5)), alone.predict_proba(used))
    columns = "2 categorical, 1 bernoulli, 1 normal, 2 left out"
    learned = "3 views of 1 number, dependence, powers learned on 60 of 60 rows"
    assert repr(clf) == f"NaiveBayesClassifier(): {columns}; {learned}"
    assert repr(clone(clf)) == "NaiveBayesClassifier()"
    assert repr(make_pipeline(clf)) == "Pipeline(steps=[('naivebayesclassifier', NaiveBayesClassifier())])"
    assert clf._repr_html_()


def test_inferred_likelihoods_can_be_given_and_changed():
    found = nb.infer_likelihoods(FRAME)
    clf = nb.NaiveBayesClassifier(found, method="posterior").fit(FRAME, Y)
    assert clone(clf).get_params()["likelihoods"] == found
    with pytest.warns(UserWarning, match=NAMED):
        as_chosen = nb.NaiveBayesClassifier(method="posterior").fit(FRAME, Y)
    assert_array_equal(clf.predict_proba(FRAME), as_chosen.predict_proba(FRAME))
    assert fitted({**found, "rooms": "poisson"}).likelihoods_["rooms"] == "poisson"


def test_a_dict_of_likelihoods_is_one_line():
    found = nb.infer_likelihoods(FRAME)
    assert repr(nb.NaiveBayesClassifier(found)) == f"NaiveBayesClassifier(likelihoods={dict(sorted(found.items()))})"


@pytest.mark.slow
def test_columns_are_skipped_by_name_by_pattern_and_by_position():
    for likelihoods in ({"name": "skip", "town": "skip"}, {"[nt]*": "skip"}, list(KINDS.values())):
        assert fitted(likelihoods).likelihoods_ == KINDS
    dates = FRAME.assign(name=pd.Timestamp("2020-01-01"))
    assert_array_equal(fitted(frame=dates).predict(dates), fitted().predict(FRAME))
    rows = np.column_stack([FRAME["size"], np.full(N, np.inf), FRAME["rooms"]])
    clf = nb.NaiveBayesClassifier(["normal", "skip", "categorical"]).fit(rows, Y)
    assert clf.likelihoods_ == {"x0": "normal", "x1": "skip", "x2": "categorical"}
    assert_allclose(clf.predict_proba(rows), nb.NaiveBayesClassifier(["normal", "categorical"]).fit(
        rows[:, [0, 2]], Y
    ).predict_proba(rows[:, [0, 2]]), rtol=1e-12)  # fmt: skip
    for X in (FRAME, rows):
        with pytest.raises(ValueError, match="no column to learn from"):
            nb.NaiveBayesClassifier("skip").fit(X, Y)


@pytest.mark.parametrize("how", ["saved", "pickled"])
def test_what_was_chosen_is_kept_with_the_model(how, tmp_path):
    clf = fitted(nb.infer_likelihoods(FRAME))
    nb.save(clf, tmp_path / "a.model")
    again = nb.load(tmp_path / "a.model") if how == "saved" else pickle.loads(pickle.dumps(clf))
    assert again.likelihoods_ == KINDS
    assert again.get_params()["likelihoods"] == KINDS
    assert_array_equal(again.predict_proba(FRAME), clf.predict_proba(FRAME))
    with pytest.warns(UserWarning, match="partial_fit after fit drops the learned dependence between columns"):
        again.partial_fit(FRAME, Y)
    assert again.class_count_.sum() == 2 * N


def in_two(first, second, **params):
    """A classifier that has seen the first rows, and a call that adds the second."""
    clf = nb.NaiveBayesClassifier(**params).partial_fit(FRAME[["size"]].assign(c=first), Y, classes=[0, 1])
    return clf, lambda: clf.partial_fit(FRAME[["size"]].assign(c=second), Y)


RUNS = np.arange(N)
LATER = [
    (RUNS % 2, RUNS % 3, "bernoulli", "column 'c' is bernoulli, as its first rows suggested, so 2 counts as missing"),
    (RUNS % 3, RUNS % 4 + 0.5, "categorical", "column 'c' is categorical, .* so 0.5 counts as missing"),
    (
        RUNS % 3,
        RUNS % 50,
        "categorical",
        "column 'c' stays categorical, .* all rows together suggest that it is normal",
    ),
    (RUNS * 0 + 1, RUNS % 50, "skip", "column 'c' stays left out, .* all rows together suggest that it is normal"),
    ([None] * N, ["x", "y"] * 30, "skip", "column 'c' stays left out, .* suggest that it is categorical"),
    (RUNS % 2 == 1, RUNS % 7, "bernoulli", "so 2 counts as missing"),
]


@pytest.mark.parametrize(("first", "second", "kind", "words"), LATER)
def test_later_rows_keep_the_kind_of_the_first_with_one_warning(first, second, kind, words):
    clf, add = in_two(first, second)
    with pytest.warns(UserWarning, match=words) as caught:
        add()
    assert len(caught) == 1
    assert clf.likelihoods_["c"] == kind
    assert clf.class_count_.sum() == 2 * N


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (RUNS % 2, RUNS * 0),
        (RUNS % 3, [2, 3] * 30),
        (RUNS % 50, RUNS % 3),
        (["x", "y"] * 30, ["x", "z"] * 30),
        (RUNS % 2 == 1, RUNS % 2),
        (RUNS % 2, RUNS % 2 == 0),
    ],
)
def test_later_rows_that_fit_cause_no_warning(first, second):
    _, add = in_two(first, second)
    add()


def test_a_number_outside_the_support_of_an_inferred_kind_drops_its_factor():
    clf = fitted("auto", FRAME[["rooms", "flag", "size"]])
    rows = FRAME[["rooms", "flag", "size"]].head(4)
    for name, odd in (("rooms", 2.5), ("flag", 2)):
        cells = [odd, *rows[name][1:]]
        with pytest.warns(
            UserWarning, match=f"column '{name}' is {KINDS[name]}, .* so {odd} counts as missing"
        ) as caught:
            found = clf.predict_proba(rows.assign(**{name: cells}))
        assert len(caught) == 1
        assert_array_equal(found, clf.predict_proba(rows.assign(**{name: [np.nan, *rows[name][1:]]})))
    clf, add = in_two(RUNS % 2, RUNS % 3)
    same, add_missing = in_two(RUNS % 2, np.where(RUNS % 3 == 2, np.nan, RUNS % 3))
    with pytest.warns(UserWarning, match="so 2 counts as missing"):
        add()
    add_missing()
    rows = FRAME[["size"]].assign(c=RUNS % 2)
    assert_allclose(clf.predict_proba(rows), same.predict_proba(rows), rtol=1e-12)


def test_a_declared_kind_refuses_what_is_outside_its_support():
    _, add = in_two(RUNS % 2, RUNS % 3, likelihoods={"c": "bernoulli"})
    with pytest.raises(ValueError, match=r"column 'c' is bernoulli, so its cells are 0, 1 or missing, got 2 in row 2"):
        add()


def test_a_column_of_unseen_categories_is_pointed_out():
    clf = fitted("auto", FRAME[["colour", "rooms"]])
    rows = FRAME[["colour", "rooms"]].head(3)
    clf.predict(rows.assign(colour=["pink", "red", None]))
    for odd in ({"colour": ["pink", "grey", None]}, {"rooms": [70, 80, 90]}):
        with pytest.warns(UserWarning, match=f"column '{next(iter(odd))}' holds no value that the model was fitted to"):
            clf.predict(rows.assign(**odd))


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame])
def test_categories_that_are_nearly_alike_stay_two_with_a_warning(make):
    for cells in (["male", "Male", "female"], ["a b", "ab", "c"], ["x", " x", "y"]):
        frame = make({"sex": cells * 20})
        one, other = sorted(cells[:2])
        with pytest.warns(UserWarning, match=f"categories '{one}' and '{other}', which differ only in case"):
            clf = nb.NaiveBayesClassifier().fit(frame, Y)
        assert len(clf.schema_.columns[0].values) == 3
        nb.NaiveBayesClassifier({"sex": "categorical"}).fit(frame, Y)


BITS = (RNG.random((N, 5)) < 0.2 + 0.6 * Y[:, None]).astype(float)
SAID = "all cells of X are zeros and ones, so its columns are Bernoulli: .* or likelihoods='normal' for numbers"


@pytest.mark.parametrize(
    "bits", [BITS, BITS.astype(int), BITS > 0, np.where(RNG.random(BITS.shape) < 0.1, np.nan, BITS)]
)
def test_zeros_and_ones_are_bernoulli_with_a_warning(bits):
    with pytest.warns(UserWarning, match=SAID):
        clf = nb.NaiveBayesClassifier().fit(bits, Y)
    declared = nb.NaiveBayesClassifier("bernoulli").fit(bits, Y)
    assert {*clf.likelihoods_.values()} == {"bernoulli"}
    assert_array_equal(clf.predict_proba(bits), declared.predict_proba(bits))
    assert {*nb.NaiveBayesClassifier("normal").fit(bits, Y).likelihoods_.values()} == {"normal"}


@pytest.mark.slow
def test_other_arrays_stay_normal():
    for rows in (BITS + 1, BITS * 0, np.column_stack([BITS[:9], FRAME["size"][:9]])):
        assert {*nb.NaiveBayesClassifier().fit(rows, Y[: len(rows)]).likelihoods_.values()} == {"normal"}


@pytest.mark.slow
def test_a_small_first_batch_of_zeros_and_ones_stays_normal_with_a_warning():
    clf = nb.NaiveBayesClassifier().partial_fit(BITS[:5], Y[:5], classes=[0, 1])
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # still too few, or not all zeros and ones
        clf.partial_fit(BITS[5:8], Y[5:8])
        pickle.loads(pickle.dumps(clf)).partial_fit(BITS[8:] * 1.5, Y[8:]).partial_fit(BITS[8:], Y[8:])
        nb.NaiveBayesClassifier("normal").partial_fit(BITS[:5], Y[:5], classes=[0, 1]).partial_fit(BITS[5:], Y[5:])
    with pytest.warns(UserWarning, match="X stays normal, .* all rows together suggest bernoulli") as caught:
        clf.partial_fit(BITS[8:], Y[8:]).partial_fit(BITS, Y)
    assert len(caught) == 1
    assert {*clf.likelihoods_.values()} == {"normal"}


@pytest.mark.parametrize("cells", [RUNS % 3, RUNS % 2, RUNS / 7])
def test_infinity_is_refused_whatever_the_other_numbers(cells):
    frame = pd.DataFrame({"c": np.r_[np.inf, cells[1:]]})
    assert dict(nb.infer_likelihoods(frame)) == {"c": "normal"}
    with pytest.raises(ValueError, match="column 'c' holds an infinite number in row 0: leave out the cell or its row"):
        nb.NaiveBayesClassifier().fit(frame, Y)


def test_later_numbers_of_an_array_of_zeros_and_ones_drop_their_factor():
    with pytest.warns(UserWarning, match=SAID):
        clf = nb.NaiveBayesClassifier().partial_fit(BITS, Y, classes=[0, 1])
    odd, missing = np.where(BITS == 1, BITS, [[0, 0, 0, 0, 2.5]]), BITS.copy()
    missing[BITS[:, 4] == 0, 4] = np.nan
    with pytest.warns(
        UserWarning, match="column 4 of X is bernoulli, as its first rows suggested, so 2.5 counts as missing"
    ) as caught:
        assert_array_equal(clf.predict_proba(odd), clf.predict_proba(missing))
    assert len(caught) == 1
    with pytest.warns(UserWarning, match="so 2.5 counts as missing"):
        clf.partial_fit(odd, Y)
    assert clf.class_count_.sum() == 2 * N
    assert {*clf.likelihoods_.values()} == {"bernoulli"}


@pytest.mark.parametrize("make", [scipy.sparse.csr_array, scipy.sparse.csc_matrix])
def test_sparse_rows_need_a_choice(make):
    with pytest.raises(TypeError, match=r"X is sparse: .*'bernoulli' .* or likelihoods='multinomial' .*range"):
        nb.NaiveBayesClassifier().fit(make(BITS), Y)


def test_an_exact_name_is_no_pattern():
    frame = pd.DataFrame({"x[1]": [0, 1, 4, 2], "x1": [0.5, -1.5, 2.5, 0.0]})
    clf = nb.NaiveBayesClassifier({"x[1]": "poisson"}).fit(frame, [0, 1, 1, 0])
    assert clf.likelihoods_ == {"x[1]": "poisson", "x1": "normal"}


def test_declared_flags_are_one_value_however_they_are_written():
    cells = ["true", "false", "unknown", "true", "false", "unknown"]
    typed = nb.NaiveBayesClassifier().fit(pd.DataFrame({"c": pd.Categorical(cells)}), [0, 1] * 3)
    plain = nb.NaiveBayesClassifier().fit(pd.DataFrame({"c": cells}), [0, 1] * 3)
    assert typed.schema_.columns[0].values == plain.schema_.columns[0].values == ("False", "True", "unknown")


def test_numbers_that_repeat_are_no_row_numbers(recwarn):
    rng = np.random.default_rng(0)
    draws = np.r_[0, 9999, rng.integers(0, 10_000, 9998)]
    clf = nb.NaiveBayesClassifier()
    for part in np.split(draws, 5):
        clf.partial_fit(pd.DataFrame({"n": part}), part % 2, classes=[0, 1])
    assert clf.likelihoods_ == {"n": "normal"}
    assert not recwarn


@pytest.mark.parametrize("cells", [["1.2.30", "2.1.11", "1.10.12"], ["1.2.3", "4.5.6", "7.8.9"]])
def test_versions_are_no_dates(cells):
    found = nb.infer_likelihoods(pd.DataFrame({"version": cells * 5}))
    assert found["version"] == "categorical"


SIZES, COLOURS = np.c_[FRAME["size"], RNG.normal(Y)], pd.get_dummies(FRAME["colour"]).to_numpy(float)
MIXED = np.c_[SIZES[:, :1], COLOURS, SIZES[:, 1:]]
BY_POSITION = {range(1, 4): "bernoulli", "*": "normal"}


@pytest.mark.parametrize("missing", [True, pytest.param(False, marks=pytest.mark.slow)])
def test_columns_of_zeros_and_ones_beside_numbers_are_bernoulli(missing):
    rows = np.where(RNG.random(MIXED.shape) < 0.1, np.nan, MIXED) if missing else MIXED
    clf = nb.NaiveBayesClassifier(method="posterior").fit(rows, Y)  # without a warning
    assert [*clf.likelihoods_.values()] == ["normal", "bernoulli", "bernoulli", "bernoulli", "normal"]
    declared = nb.NaiveBayesClassifier(BY_POSITION, method="posterior").fit(rows, Y)
    assert_array_equal(clf.predict_proba(rows), declared.predict_proba(rows))
    assert_array_equal(clf.predict_proba(jnp.asarray(rows)[:5]), declared.predict_proba(jnp.asarray(rows)[:5]))
    batches = nb.NaiveBayesClassifier().partial_fit(rows[:30], Y[:30]).partial_fit(rows[30:], Y[30:])
    whole = nb.NaiveBayesClassifier().fit(rows, Y)
    assert_allclose(batches.predict_proba(rows), whole.predict_proba(rows), rtol=1e-9)
    few = nb.NaiveBayesClassifier().partial_fit(rows[:9], Y[:9])
    with pytest.warns(UserWarning, match="'x1', 'x2', 'x3' of X stay normal, .* suggest bernoulli"):
        few.partial_fit(rows[9:], Y[9:])


@pytest.mark.parametrize("temper", [None, False])
def test_fits_to_zeros_and_ones_beside_numbers_are_kept_in_files(temper, tmp_path):
    clf = nb.NaiveBayesClassifier(temper=temper).fit(MIXED, Y)
    nb.save(clf, tmp_path / "saved")
    read = nb.load(tmp_path / "saved")
    assert_allclose(read.predict_proba(MIXED), clf.predict_proba(MIXED), rtol=1e-9)
    with pytest.warns(UserWarning, match="column 1 of X is bernoulli, as its first rows suggested, so 3 counts"):
        odd = read.predict_proba(np.where([[0, 1, 0, 0, 0]], 3.0, MIXED))
    assert_allclose(odd, clf.predict_proba(np.where([[0, 1, 0, 0, 0]], np.nan, MIXED)), rtol=1e-9)
    found = nb.explain(clf, MIXED[:1])
    assert {*found.feature_names} == {f"x{d}" for d in range(5)} | ({"dependence"} if temper is None else set())


def test_onnx_reads_other_numbers_in_columns_of_zeros_and_ones_as_missing(tmp_path):
    reference = pytest.importorskip("onnx.reference")
    clf = nb.NaiveBayesClassifier(temper=False).fit(MIXED, Y)
    nb.export(clf, tmp_path / "fit.onnx")
    run = reference.ReferenceEvaluator(str(tmp_path / "fit.onnx"))
    odd, missing = (np.where([[0, 1, 0, 0, 0]], cell, MIXED) for cell in (3.0, np.nan))
    assert_allclose(run.run(None, {"X": odd})[1], clf.predict_proba(missing), rtol=1e-5)


def test_a_column_transformer_gives_what_the_frame_gives():
    columns = ColumnTransformer([("colour", OneHotEncoder(drop=["red"]), ["colour"])], remainder="passthrough")
    frame = FRAME[["colour", "size"]]
    pipe = make_pipeline(columns, nb.NaiveBayesClassifier()).fit(frame, Y)
    assert repr(pipe[-1]).startswith("NaiveBayesClassifier(): 2 bernoulli, 1 normal; 3 views of 1 number")
    sparse = columns.set_params(sparse_threshold=1.0).fit_transform(frame)
    with pytest.raises(TypeError, match=r"X is sparse: .* a ColumnTransformer with sparse_threshold=0 gives an array"):
        nb.NaiveBayesClassifier().fit(sparse, Y)


def test_zeros_and_ones_are_predicted_better_as_bernoulli_beside_numbers_too():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 200)
    likelier = (y[:, None] == 1) ^ (rng.random(200) < 0.5)
    rare = (rng.random((200, 200)) < np.where(likelier, 0.06, 0.02)).astype(float)
    rows = np.c_[rare, rng.normal(size=(200, 2))]
    ours = cross_val_score(nb.NaiveBayesClassifier(method="posterior"), rows, y).mean()
    normal = nb.NaiveBayesClassifier("normal", method="posterior")
    assert ours > cross_val_score(normal, rows, y).mean() + 0.05
