"""Warnings point at the user's line, once a call and once a cross-validation."""

import os
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline

import bayesnb as nb
from tests.compute.arrays.named_houses import FRAME, Y

ROOT = Path(nb.__file__).parent.parent
EXTRA = FRAME.assign(more=1.0, colour="red")
FOLDS = """
import joblib, sys
from sklearn.model_selection import GridSearchCV, cross_val_score
import bayesnb as nb
from tests.compute.arrays.named_houses import FRAME, Y
if __name__ == "__main__":
    with joblib.parallel_config(sys.argv[1], n_jobs=2):
        cross_val_score(nb.NaiveBayesClassifier(temper=False), FRAME, Y)  # here
        search = GridSearchCV(nb.NaiveBayesClassifier(temper=False), {"smoothing": [1.0, 2.0, 3.0]})
        search.fit(FRAME, Y)  # and here
"""


def heard(call):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        call()
    assert {warning.filename for warning in caught} <= {__file__}
    return sorted(str(warning.message).split(" ")[1] for warning in caught)


def test_each_call_says_once_what_is_left_out_and_points_here():
    clf = nb.NaiveBayesClassifier(temper=False)
    assert heard(lambda: clf.fit(FRAME, Y)) == ["'name'"]
    assert heard(lambda: make_pipeline(clf).fit(FRAME, Y)) == ["'name'"]
    for method in (clf.predict, clf.predict_proba, clf.predict_log_proba, clf.predict_joint_log_proba):
        assert heard(lambda ask=method: ask(EXTRA)) == heard(lambda ask=method: ask(EXTRA[:3])) == ["rows"]
    assert heard(lambda: clf.score(EXTRA, Y)) == heard(lambda: nb.explain(clf, EXTRA[:2])) == ["rows"]
    assert heard(lambda: cross_val_score(clf, FRAME, Y)) == ["'name'"] * 5  # "always" is what it says


LABELLED, NORMAL = FRAME.assign(kind=Y), nb.NaiveBayes(nb.Normal())
NEAR = np.array([[1.0], [1.0 + 2.0**-52]] * 4), np.arange(8) // 4  # whose means are rounded
FLAGS = nb.NaiveBayes(nb.Bernoulli(), num_classes=2)
FEW = np.eye(4)[[0, 1, 2, 3] * 3], np.r_[0, 1, np.full(10, -1)]
PLANE = np.tile(np.random.default_rng(0).normal(size=(30, 2)), (2, 1))


def fitted():
    return nb.NaiveBayesClassifier(method="posterior").fit(FRAME[["size"]], Y)


def of_a_schema(schema):
    nb.fit_table(schema, statistics=schema.count(LABELLED), method="posterior")


def damaged(folder):
    nb.experiment("wine", ["MLE"], [16], 1, out=folder)
    os.truncate(folder / "losses.bin", 100)
    return folder


DOORS = {
    "fit_posterior": lambda _: nb.fit_posterior(NORMAL, *NEAR),
    "fit_map": lambda _: nb.fit_map(NORMAL, *NEAR),
    "fit_mle": lambda _: nb.fit_mle(NORMAL, *NEAR),
    "fit_em": lambda _: nb.fit_em(FLAGS, *FEW, max_iterations=1),
    "fit_empirical": lambda _: nb.fit_empirical(NORMAL, PLANE, Y, max_iterations=1),
    "fit": lambda _: nb.NaiveBayesClassifier(method="posterior").fit(FRAME, Y),
    "partial_fit": lambda _: nb.NaiveBayesClassifier(method="posterior").partial_fit(FRAME, Y, classes=[0, 1]),
    "score": lambda _: fitted().score(EXTRA, Y),
    "explain": lambda _: nb.explain(fitted(), EXTRA[:2]),
    "top_features": lambda _: nb.top_features(nb.NaiveBayesClassifier(method="posterior").fit(FRAME, Y)),
    "fit_table": lambda _: nb.fit_table(LABELLED, "kind", method="posterior"),
    "a schema": lambda _: of_a_schema(nb.describe_table(LABELLED, "kind")),
    "predict_table": lambda folder: nb.predict_table(fitted(), EXTRA, to=folder / "rows.csv"),
    "experiment": lambda _: nb.experiment({"twice": (PLANE, Y)}, ["MLE"], [16], 1),
    "a damaged study": lambda folder: nb.load_experiment(damaged(folder)),
}


@pytest.mark.parametrize("door", DOORS)
def test_every_door_points_here(door, tmp_path):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        DOORS[door](tmp_path)
    assert {(warning.category, warning.filename) for warning in caught} == {(UserWarning, __file__)}


def test_a_cross_validation_says_it_once():
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("default")
        cross_val_score(nb.NaiveBayesClassifier(temper=False), FRAME, Y)
        first = len(caught)
        cross_val_score(nb.NaiveBayesClassifier(temper=False), FRAME, Y)
    assert (first, len(caught)) == (1, 2)
    assert {warning.filename for warning in caught} == {__file__}
    assert caught[0].lineno == caught[1].lineno - 2


@pytest.mark.slow
@pytest.mark.parametrize(("backend", "times"), [("sequential", 1), ("threading", 1), ("loky", 3)])
def test_threads_and_processes_point_at_the_line_that_asked_once_a_process(backend, times, tmp_path):
    program = tmp_path / "folds.py"
    program.write_text(FOLDS)
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), *filter(None, sys.path)])}
    command = [sys.executable, program, backend]
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
    said = [line for line in done.stderr.splitlines() if "column 'name'" in line]
    lines = [number for number, line in enumerate(FOLDS.splitlines(), 1) if line.endswith("here")]
    assert {line.split(": ")[0] for line in said} == {f"{program}:{number}" for number in lines}
    assert all(1 <= sum(f"{program}:{number}:" in line for line in said) <= times for number in lines)


def test_a_filter_that_raises_always_raises():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for _ in range(2):
            with pytest.raises(UserWarning, match="column 'name'"):
                cross_val_score(nb.NaiveBayesClassifier(), FRAME, Y, error_score="raise")


def test_no_level_of_the_stack_is_set_by_hand():
    texts = {path: path.read_text(encoding="utf-8") for path in Path(nb.__file__).parent.rglob("*.py")}
    assert [str(path) for path, text in texts.items() if "stacklevel" in text or "warnings.warn(" in text] == []
