"""What a study says of its cells: the tidy frame, scores, ranks, splits; and arguments that do not fit."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from numpy.testing import assert_allclose
from sklearn.datasets import load_iris

import bayesnb as nb
from bayesnb.tables.frames._series import DataError

X, Y = load_iris(return_X_y=True)
SETS = {"iris": (X, Y), "three": (X[::-1, :3], Y[::-1])}


@pytest.fixture(scope="module")
def study():
    return nb.experiment(
        SETS, ["MLE", "full Bayes", ("odd", odd)], sizes=[16, 64], splits=4, metrics=["log_loss", "auc"]
    )


def odd(model, X, y):
    if len(y) == 64:
        raise ValueError("too many rows")
    return nb.fit_map(model, X, y)


def test_the_frame_is_tidy_and_goes_through_other_formats(study, tmp_path):
    frame = study.frame()
    assert (
        len(frame) == 2 * 4 * 2 * 3 * 2 == len(frame.drop_duplicates(["data_set", "split", "size", "method", "metric"]))
    )
    assert frame["key"].nunique() == 48
    assert {*frame["status"]} == {"ok", "failed"}
    assert (frame["value"].isna() == (frame["status"] != "ok")).all()
    frame.to_parquet(tmp_path / "frame.parquet")
    pd.testing.assert_frame_equal(pd.read_parquet(tmp_path / "frame.parquet"), frame)
    pd.testing.assert_frame_equal(pl.from_pandas(frame).to_pandas(), frame)


def test_scores_are_means_over_splits_and_missing_where_a_split_failed(study):
    frame = study.frame().query("size == 16 and metric == 'log_loss'")
    of_odd = frame.query("data_set == 'iris' and method == 'odd'")["value"]
    assert_allclose(study.scores(size=16).loc["iris", "odd"], of_odd.mean())
    assert study.scores().isna().sum().tolist() == [0, 0, 2]
    assert study.scores("auc", 16).loc["iris"].min() > 0.9


def test_ranks_of_failures_are_the_worst_or_none(study):
    assert study.ranks().loc["iris", "odd"] == 3
    assert np.isnan(study.ranks(failures="nan").loc["iris", "odd"])
    assert study.ranks("auc", 16).sum(axis=1).tolist() == [6, 6]


def test_losses_average_to_the_scores(study):
    losses = study.losses("iris", 16, "MLE")
    assert losses.shape == (4, study.num_test("iris")) == (4, 45)
    frame = study.frame().query("data_set == 'iris' and size == 16 and method == 'MLE' and metric == 'log_loss'")
    assert_allclose(losses.mean(axis=1), frame["value"], rtol=1e-6)


def test_cost_and_failures(study):
    cost = study.cost().set_index(["data_set", "method"])
    assert cost.loc[("iris", "MLE"), "rows"] == 4 * (16 + 64)
    assert {*study.failures()["reason"]} == {"ValueError: too many rows"}
    assert repr(study) == "Experiment(sets=2, methods=3, cells=48, failed=8)"


def test_left_out_predictions_are_exact(study):
    found = study.left_out("iris")
    model = nb.NaiveBayes({"numeric": nb.Normal()}, num_classes=3)
    table = nb.leave_one_out(model, {"numeric": X}, Y)
    assert_allclose(found["full Bayes"], table[np.arange(150), Y], rtol=1e-9)
    rest = np.arange(1, 150)
    alone = nb.fit_mle(nb.NaiveBayes(nb.Normal()), X[rest], Y[rest]).predict_log_proba(X[:1])[0, Y[0]]
    assert_allclose(found["MLE"][0], alone, rtol=1e-4)  # the smallest variance is that of all rows
    assert [*found] == ["MLE", "full Bayes"]


def test_questions_that_do_not_fit_are_refused_in_a_sentence(study):
    for ask, words in (
        (lambda: study.scores("brier"), "has the metrics log_loss, auc, not 'brier'"),
        (lambda: study.scores(size=17), "no set has training sets of 17 rows: the sizes are 16, 64"),
        (lambda: study.splits("irs"), "no set 'irs' among iris, three; did you mean 'iris'"),
        (lambda: study.losses("iris", 16, "MLE", "auc"), "'auc' is no mean over test rows"),
        (lambda: study.plot(page=2), "no page 2: this picture of 2 sets has 1"),
        (lambda: study.plot(page=2, reference="MLE"), "no page 2: this picture of 2 sets has 1"),
        (lambda: study.ranks(failures="best"), "failures must be 'worst' or 'nan'"),
    ):
        with pytest.raises(DataError, match=words):
            ask()
    with pytest.raises(ValueError, match="page must be a positive int"):
        study.plot(page=0)


def test_a_table_and_pictures_of_a_study(study, tmp_path):
    text = study.to_latex(tmp_path / "table.tex")
    assert (tmp_path / "table.tex").read_text(encoding="utf-8") == text
    study.plot(tmp_path / "curves.png")
    study.plot(tmp_path / "forest.png", reference="MLE")
    assert (tmp_path / "curves.png").stat().st_size > 1000 < (tmp_path / "forest.png").stat().st_size
    assert "<table" in study._repr_html_()


def test_differences_from_a_reference(study):
    table = study.differences("MLE", rope=0.01)
    assert table[table["method"] == "odd"].query("size == 64")["missing"].tolist() == [4, 4]
    row = table.query("data_set == 'iris' and size == 16 and method == 'full Bayes'").iloc[0]
    scores = study.scores(size=16).loc["iris"]
    assert_allclose(row["mean"], scores["full Bayes"] - scores["MLE"], rtol=1e-5)  # losses are kept in float32
    with pytest.raises(DataError, match="the metrics log_loss, auc, not 'accuracy'"):
        study.differences("MLE", metric="accuracy")


def test_the_utility_of_sets_has_an_interval_where_all_splits_share_test_rows(rng):
    """As the accuracy has: where every set has one class, at s = 0, they are equal."""
    metrics = ("accuracy", "u65", "determinacy")
    y = rng.integers(0, 3, 180)
    grades = pd.DataFrame(np.where(rng.random((180, 6)) < 0.5, y[:, None], rng.integers(0, 3, (180, 6)))).astype(
        "category"
    )
    sets = {"grades": (grades.rename(columns=str), y)}
    none, some = (nb.experiment(sets, ["full Bayes", "tempered"], [32], 8, metrics, s=s) for s in (0, 0.5))
    plain, utility = none.differences("full Bayes"), none.differences("full Bayes", metric="u65")
    about = ["mean", "low", "high", "p_worse", "estimator"]
    assert plain["metric"].item() == "accuracy"  # the first of the study
    assert plain[about].round(5).equals(utility[about].round(5))
    (found,) = some.differences("full Bayes", metric="u65").itertuples()
    scores = some.scores("u65").loc["grades"]
    assert_allclose(found.mean, scores["tempered"] - scores["full Bayes"], atol=1e-6)
    assert (found.estimator, found.low < found.mean < found.high) == ("crossed", True)
    assert some.scores("determinacy").loc["grades", "full Bayes"] < 1


def test_tests_of_hypotheses_take_the_scores(study):
    assert study.wilcoxon(size=16)["p"].shape == (3,)
    assert_allclose(study.friedman(size=16).ranks.sum(), 6)


def test_autorank_and_scikit_posthocs_take_the_scores():
    """Of six sets, as autorank wants five; their numbers are those of ``friedman``, ``ranks`` and ``wilcoxon``."""
    autorank = pytest.importorskip("autorank", reason="autorank takes the scores in this test")
    posthocs = pytest.importorskip("scikit_posthocs", reason="scikit-posthocs takes the scores in this test")
    sets = {f"{n} rows": (X[:n], Y[:n]) for n in range(125, 149, 4)}
    study = nb.experiment(sets, ["MLE", "MAP", "full Bayes"], sizes=[16], splits=2)
    scores, own = study.scores(), study.friedman()
    ranked = autorank.autorank(scores, order="ascending", force_mode="nonparametric")
    assert (ranked.omnibus, ranked.pvalue) == ("friedman", pytest.approx(own.p, rel=1e-9))
    assert_allclose(ranked.rankdf["meanrank"][study.methods], own.ranks, rtol=1e-12)
    assert_allclose(own.ranks, study.ranks().mean(), rtol=1e-12)
    pairs = posthocs.posthoc_wilcoxon(scores.melt(), val_col="value", group_col="method", p_adjust="holm")
    assert_allclose(
        [pairs.loc[row.method, row.other] for row in study.wilcoxon().itertuples()], study.wilcoxon()["p_holm"]
    )


@pytest.mark.filterwarnings("ignore:The inplace keyword")  # ArviZ 0.23 with pandas 3
def test_arviz_compares_the_methods(study):
    import arviz as az

    table = az.compare(study.elpd("iris"))
    assert {*table.index} == {"MLE", "full Bayes"}
