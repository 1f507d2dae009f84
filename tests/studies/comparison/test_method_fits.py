"""Every method that compare runs is the one it names."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose

import bayesnb as nb
from bayesnb.core.fits._averaged import feature_inclusion, fit_averaged
from bayesnb.core.fits._closed_form import fit_map, fit_mle, fit_posterior
from bayesnb.core.fits._empirical import fit_empirical
from bayesnb.core.model._naive_bayes import NaiveBayes
from bayesnb.families import Histogram, Normal, NormalScores, Views
from bayesnb.learned.validation._default import fit_default
from bayesnb.learned.validation._temper import temper
from bayesnb.studies.comparison._data_sets import bayes_model
from bayesnb.studies.comparison._designs import Split
from bayesnb.studies.comparison._first_split import compute_evidence
from bayesnb.studies.comparison._methods import NAIVE_BAYES, RIVALS
from bayesnb.studies.comparison._metrics import log_loss
from bayesnb.tables.sklearn._settings import PARTS
from tests import cases
from tests.comparisons import compared, data_of, synthetic


@pytest.fixture(scope="module")
def pair():
    return synthetic("bn", rows=60)


def one_hot_and_standardised(X, train):
    """The rivals' features written out: levels 0, 1 and missing; numbers in units of the training rows."""
    flag, size = X["binary"], X["numeric"]
    mean, sd = train["numeric"].mean(), train["numeric"].std()
    return np.hstack([flag == 0, flag == 1, np.isnan(flag), (size - mean) / sd])


@pytest.mark.slow
def test_rows_that_are_known_to_be_those_of_the_fit_are_not_counted_again(pair, monkeypatch):
    def recount(*_):
        raise AssertionError("rows are compared with those of the fit")

    monkeypatch.setattr("bayesnb.learned.validation._temper.fitted_rows", recount)
    methods = ("full Bayes", "tempered", "feature weights", "default")
    assert compared(pair, (30,), 1, methods=methods).methods == methods


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:the evidence rises beyond the bounds")
def test_each_row_is_its_method_on_the_same_rows(pair):
    from sklearn.ensemble import RandomForestClassifier
    from sklearn.linear_model import LogisticRegression

    result = compared(pair, (30,), 2, methods=NAIVE_BAYES + RIVALS)
    assert result.methods == (*NAIVE_BAYES, *RIVALS)
    split = result.study.splits(pair.name, 30)[1]
    (X, y), (X_test, y_test) = pair.rows(split.train[:30]), pair.rows(split.test)
    model = bayes_model(pair)
    post = fit_posterior(model, X, y)
    fits = {
        "MLE": fit_mle(model, X, y),
        "MAP": fit_map(bayes_model(pair, laplace=True), X, y),
        "full Bayes": post,
        "learned prior": fit_empirical(model, X, y),
        "averaged": fit_averaged(model, X, y),
        "tempered": temper(post, X, y),
        "feature weights": temper(post, X, y, per_feature=True),
    }
    views = {**model.families, "numeric": Views(Normal(), NormalScores(), Histogram())}
    seen = fit_posterior(NaiveBayes(views, num_classes=model.num_classes), X, y)
    fits["default"], *_ = fit_default(seen, X, y, None, by_feature=views, structures=PARTS[None])
    found = {method: fit.predict_log_proba(X_test) for method, fit in fits.items()}
    Z, Z_test = one_hot_and_standardised(X, X), one_hot_and_standardised(X_test, X)
    found["logistic regression"] = LogisticRegression(max_iter=1000).fit(Z, y).predict_log_proba(Z_test)
    with np.errstate(divide="ignore"):
        forest = RandomForestClassifier(300, random_state=1).fit(Z, y)
        found["random forest"] = forest.predict_log_proba(Z_test)
    for method, log_proba in found.items():
        loss = log_loss(log_proba, y_test)
        assert_allclose(result.values(30, method, "log_loss")[1], loss, rtol=1e-5, err_msg=method)


def with_gaps(speak):
    """Three classes, which lack cells in different shares if these are to ``speak``."""
    rng, y = np.random.default_rng(0), np.arange(120) % 3
    gone = rng.random((2, 120)) < (0.1 + 0.3 * np.array([y, 2 - y]) if speak else 0.2)
    columns = {
        "age": np.where(gone[0], np.nan, rng.normal(y, 1.0)),
        "colour": np.where(gone[1], None, rng.choice(["red", "green"], 120)),
    }
    return pd.DataFrame(columns).assign(size=rng.normal(size=120), label=np.array(["low", "mid", "top"])[y])


@pytest.mark.parametrize("rows", cases.by_default(["gaps that speak", "gaps", "penguins"], "gaps that speak"))
def test_the_default_is_that_of_the_estimator_on_the_same_rows(rows, request):
    """With the flags that it keeps on the training rows of each split; these have all categories."""
    speak, target = rows == "gaps that speak", "species" if rows == "penguins" else "label"
    frame = pd.read_csv(request.getfixturevalue("data") / "penguins.csv") if rows == "penguins" else with_gaps(speak)
    study = nb.experiment({"s": (frame, target)}, "default", sizes=[60], splits=2, metrics="log_loss")
    table, X = study.frame(), frame.drop(columns=target)
    for split, (train, test) in enumerate(study.splits("s", 60)):
        clf = nb.NaiveBayesClassifier().fit(X.iloc[train[:60]], frame[target].iloc[train[:60]])
        loss = log_loss(clf.predict_log_proba(X.iloc[test]), clf.codes_of(frame[target].iloc[test]))
        assert_allclose(table.loc[table["split"] == split, "value"], loss, rtol=1e-6)
        assert ("flags of missing cells" in clf.learned_.summary) == speak


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:the evidence rises beyond the bounds")
def test_the_evidence_is_that_of_the_first_training_set(pair):
    train = np.random.default_rng(1).permutation(60)[:30]
    evidence = compute_evidence(data_of(pair), Split(train, train[:0]))
    X, y = pair.rows(train)
    model = bayes_model(pair)
    assert_allclose(evidence.full_bayes, fit_posterior(model, X, y).log_evidence, rtol=1e-9)
    assert_allclose(evidence.learned_prior, fit_empirical(model, X, y).log_evidence, rtol=1e-9)
    assert evidence.learned_prior > evidence.full_bayes
    inclusion = feature_inclusion(model, X, y)
    for column, name, block in zip(evidence.columns, ("size", "flag"), ("numeric", "binary"), strict=True):
        assert column.column == name  # the strongest first, though its block comes last
        assert_allclose(column[1:], [part[block][0] for part in inclusion], rtol=1e-9)
