"""Every cell equals a fit of its own, scored by hand; nothing runs twice; no order changes a key or a value."""

import joblib
import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from sklearn.linear_model import LogisticRegression

import bayesnb as nb
from bayesnb.studies.comparison._data_sets import bayes_model, read_sets
from bayesnb.studies.comparison._metrics import SET_METRICS, set_scores

RNG = np.random.default_rng(3)
Y = RNG.choice(3, size=90, p=[0.6, 0.35, 0.05])
MIXED = pd.DataFrame(
    {
        "size": np.where(RNG.random(90) < 0.1, np.nan, RNG.normal(size=90) + Y),
        "town": np.where(RNG.random(90) < 0.1, None, np.array([*"abc"], object)[(Y + RNG.integers(0, 2, 90)) % 3]),
        "flag": RNG.random(90) < 0.3 + 0.2 * Y,
    }
)
SETS = {"mixed": (MIXED, Y), "numbers": (RNG.normal(size=(60, 2)) + (np.arange(60) % 2)[:, None], np.arange(60) % 2)}
CLOSED = ["MLE", "MAP", "full Bayes", *nb.methods("full Bayes", smoothing=[0.3, 5.0])]


class Counts:
    """A method that counts its calls."""

    def __init__(self):
        self.calls = 0

    def __call__(self, model, X, y):
        self.calls += 1
        return nb.fit_map(model, X, y)


def same(a, b):
    pd.testing.assert_frame_equal(a.frame(), b.frame(), check_exact=True)


def test_every_cell_equals_a_fit_of_its_own_scored_by_hand():
    study = nb.experiment(SETS, [*CLOSED, "tempered", ("mine", nb.fit_map)], sizes=[16, 40], splits=3)
    frame = study.frame().set_index(["data_set", "split", "size", "method", "metric"]).sort_index()
    assert (frame["status"] == "ok").all()
    for data in read_sets(SETS, 0):
        table = data.table
        fits = {
            "MLE": lambda *rows, t=table: nb.fit_mle(bayes_model(t), *rows),
            "MAP": lambda *rows, t=table: nb.fit_map(bayes_model(t, laplace=True), *rows),
            "mine": lambda *rows, t=table: nb.fit_map(bayes_model(t), *rows),
            "full Bayes": lambda *rows, t=table: nb.fit_posterior(bayes_model(t), *rows),
            "full Bayes, smoothing=0.3": lambda *rows, t=table: nb.fit_posterior(bayes_model(t, smoothing=0.3), *rows),
            "tempered": lambda *rows, t=table: nb.temper(nb.fit_posterior(bayes_model(t), *rows), *rows),
        }
        for size in (16, 40):
            for number, split in enumerate(study.splits(data.name, size)):
                X_test, y_test = table.rows(split.test)
                train = table.rows(split.train[:size])
                for method, fit in fits.items():
                    own = fit(*train)
                    log_proba = np.maximum(own.predict_log_proba(X_test), np.log(np.finfo(np.float32).tiny))
                    cell = frame.loc[data.name, number, size, method]
                    by_row = -log_proba[np.arange(len(y_test)), y_test]
                    assert_allclose(cell.loc["log_loss", "value"], by_row.mean(), rtol=1e-9)
                    assert_allclose(cell.loc["accuracy", "value"], (log_proba.argmax(axis=1) == y_test).mean())
                    assert_allclose(study.losses(data.name, size, method)[number], by_row, rtol=1e-6)
                    assert cell.loc["brier", "classes_missing"] == len(table.classes) - len(np.unique(train[1]))
                    if method == "full Bayes":
                        left_out = nb.leave_one_out(bayes_model(table), *train)
                        assert_allclose(cell["loo_log_loss"], -left_out[np.arange(size), train[1]].mean())
                        assert_allclose(cell["log_evidence"], own.log_evidence, rtol=1e-9)


def test_sets_of_classes_are_those_of_a_fit_of_its_own(tmp_path):
    given = [*CLOSED[:3], "tempered", "default", ("mine", nb.fit_posterior)]
    metrics = ("accuracy", "determinacy", "u65", "single_accuracy")
    codes = {"codes": (MIXED[["town", "flag"]], Y)}
    study = nb.experiment(codes, given, [40], 1, metrics, out=tmp_path, s=0.5)
    plain = nb.experiment(codes, given, [40], 1, ("accuracy",))
    frame = study.frame().set_index(["split", "method", "metric"]).sort_index()
    (data,) = read_sets(codes, 0)
    for number, split in enumerate(study.splits("codes", 40)):
        train, (X, y) = data.table.rows(split.train[:40]), data.table.rows(split.test)
        post = nb.fit_posterior(bayes_model(data.table), *train)
        fits = {"full Bayes": post, "mine": post, "tempered": nb.temper(post, *train)}
        for method, fit in fits.items():
            expected = set_scores(nb.decide_set(fit, X, s=0.5).sets, y)
            for metric in metrics[1:]:
                assert_allclose(frame.loc[(number, method, metric), "value"], expected[metric])
    assert (frame["pseudo_rows"] == 0.5).all()
    lacking = study.failures()
    assert {*lacking["method"]} == {"MLE", "MAP"}
    assert {*lacking["metric"]} == {*metrics[1:]}
    assert lacking["reason"].str.contains("only an exact posterior says: .* got PointEstimate").all()
    assert not {*study.keys.values()} & {*plain.keys.values()}
    own = frame.xs("accuracy", level="metric")["value"].sort_index()
    assert_allclose(own, plain.frame().set_index(["split", "method"])["value"].sort_index())
    assert "Mean u65 (s = 0.5) of 1 splits" in study.to_latex(metric="u65")
    assert "Without a value: 'MLE', 'MAP'" in study.to_latex(metric="u65")
    again = nb.load_experiment(tmp_path)
    same(again, study)
    for metric in ("determinacy", "u65"):
        for method in fits:
            losses = again.losses("codes", 40, method, metric)
            assert_allclose(1.0 - losses.mean(axis=1), frame.loc[(0, method, metric), "value"], rtol=1e-6)
        assert np.isnan(again.losses("codes", 40, "MLE", metric)).all()
    only = nb.experiment("iris", ["MLE"], [20], 1, "u80")
    assert "Without a value: 'MLE'" in only.to_latex(metric="u80")


def test_sets_of_classes_of_a_smoothing_are_those_of_its_own_fit():
    codes = {"codes": (MIXED[["town", "flag"]], Y)}
    study = nb.experiment(codes, nb.methods("full Bayes", smoothing=[0.5, 3.0]), [40], 1, ("u65",))
    (data,), (split,) = read_sets(codes, 0), study.splits("codes", 40)
    for smoothing in (0.5, 3.0):
        post = nb.fit_posterior(bayes_model(data.table, smoothing=smoothing), *data.rows(split.train[:40]))
        X, y = data.rows(split.test)
        found = study.scores()[f"full Bayes, smoothing={smoothing}"]
        assert_allclose(found["codes"], set_scores(nb.decide_set(post, X).sets, y)["u65"])


@pytest.mark.slow
def test_sets_of_classes_of_numbers_have_the_reason_in_their_cells():
    given = ["full Bayes", "default", ("estimator", nb.NaiveBayesClassifier())]
    study = nb.experiment({"mixed": SETS["mixed"]}, given, [40], 1, ("accuracy", *SET_METRICS))
    lacking = study.failures()
    assert {*zip(lacking["method"], lacking["metric"], strict=True)} == {
        (method, metric) for method in study.methods for metric in SET_METRICS
    }
    assert lacking["reason"].str.contains("known for tables of categories, .*: nb.prior_sensitivity").all()
    assert study.frame()["value"].notna().sum() == len(given)  # the accuracy


def test_nothing_runs_twice_and_what_is_added_alone_runs(tmp_path):
    first, second = Counts(), Counts()

    def study(sets, methods, sizes=(16, 40), splits=2):
        return nb.experiment(sets, methods, sizes=sizes, splits=splits, out=tmp_path / "study")

    ours = study(SETS, ["MLE", ("first", first)])
    assert first.calls == 8
    same(study(SETS, ["MLE", ("first", first)]), ours)
    assert first.calls == 8
    study(SETS, ["full Bayes", ("second", second), ("first", first)], sizes=[16, 20, 40])
    assert (first.calls, second.calls) == (12, 12)
    study(SETS, [("first", first)], splits=3)
    assert first.calls == 16
    changed = SETS["numbers"][0].copy()
    changed[5] += 1.0
    study(SETS | {"numbers": (changed, SETS["numbers"][1])}, [("first", first)])
    assert first.calls == 20


def test_order_changes_no_key_and_no_value():
    names = ["mixed", "numbers"]
    one = nb.experiment(SETS, CLOSED, sizes=[16, 40], splits=2)
    other = nb.experiment({name: SETS[name] for name in names[::-1]}, CLOSED[::-1], sizes=[40, 16], splits=2)
    columns = ["data_set", "split", "size", "method", "metric"]
    frames = [study.frame().sort_values(columns).reset_index(drop=True) for study in (one, other)]
    pd.testing.assert_frame_equal(*frames, check_exact=True)


def test_failures_are_rows_with_reasons_and_leave_the_rest_unchanged():
    def raises(*_):
        raise ValueError("no\nanswer")

    def narrow(_, X, y):
        return nb.fit_posterior(nb.NaiveBayes(nb.Normal(), num_classes=1), X["numeric"], np.zeros(len(y), int))

    def nothing(*_):
        return None

    sets = {"numbers": SETS["numbers"]}
    alone = nb.experiment(sets, ["MLE"], sizes=[16], splits=2)
    odd = [("raises", raises), ("narrow", narrow), ("nothing", nothing)]
    study = nb.experiment(sets, [*odd[:1], "MLE", *odd[1:]], sizes=[16], splits=2)
    reasons = study.failures().groupby("method")["reason"].unique()
    assert reasons["raises"].tolist() == ["ValueError: no answer"]
    assert "no predict_log_proba" in reasons["nothing"][0]
    assert len(reasons) == 3
    frame = study.frame()
    mine = frame[frame["method"] == "MLE"].reset_index(drop=True)
    pd.testing.assert_frame_equal(mine, alone.frame(), check_exact=True)
    assert study.scores().isna().sum().sum() == 3
    assert study.ranks().loc["numbers", "MLE"] == 1
    assert np.isnan(study.losses("numbers", 16, "raises")).all()


def test_a_likelihood_with_no_shared_statistics_is_fitted_one_by_one():
    X, y = SETS["numbers"]
    model = nb.NaiveBayes(nb.Histogram())
    study = nb.experiment({"h": (model, X, y)}, ["full Bayes"], sizes=[16, 30], splits=2)
    for number, split in enumerate(study.splits("h", 30)):
        declared = nb.NaiveBayes(nb.Histogram(), num_classes=2)
        own = nb.fit_posterior(declared, X[split.train[:30]], y[split.train[:30]]).predict_log_proba(X[split.test])
        assert_allclose(study.losses("h", 30, "full Bayes")[number], -own[np.arange(18), y[split.test]], rtol=1e-6)


def test_a_singular_covariance_is_the_reason_of_its_cells_alone():
    X, y = SETS["numbers"]
    study = nb.experiment({"s": (nb.NaiveBayes(nb.MultivariateNormal()), X, y)}, ["MLE"], sizes=[3, 30], splits=2)
    frame = study.frame()
    assert {*frame[frame["size"] == 3]["status"]} == {"failed"}
    assert "is singular" in frame["reason"][0]
    assert {*frame[frame["size"] == 30]["status"]} == {"ok"}


@pytest.mark.slow
def test_methods_in_other_processes_have_the_same_cells():
    """joblib's workers, and those of a timeout, which are started anew and not forked."""
    sets, methods = {"numbers": SETS["numbers"]}, [LogisticRegression(), ("mine", nb.fit_map)]
    alone = nb.experiment(sets, methods, sizes=[16, 20], splits=2)
    with joblib.parallel_config("loky", n_jobs=2):
        beside = nb.experiment(sets, methods, sizes=[16, 20], splits=2)
    same(beside, alone)
    same(nb.experiment(sets, methods, sizes=[16, 20], splits=2, timeout=60.0), alone)
