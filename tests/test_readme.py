"""What the README and the tour show works as printed."""

import re
from pathlib import Path
from typing import Any

import jax
import numpy as np
import pytest
from numpy.testing import assert_allclose

import bayesnb as nb
from bayesnb.studies.report._summary import number
from bayesnb.tables.files._description import make_table
from bayesnb.tables.files.sources._paths import open_data
from tests.comparisons import compared

ROOT = Path(__file__).parent.parent
README, TOUR, WHY = ((ROOT / path).read_text(encoding="utf-8") for path in ("README.md", "docs/tour.md", "docs/why.md"))


PROGRAMS = {name: re.findall(r"```python\n(.*?)```", text, re.S) for name, text in (("README", README), ("tour", TOUR))}


def run_lines(name: str) -> dict[str, Any]:
    """The names that a page's blocks define; each block goes on where the last one ended."""
    scope: dict[str, Any] = {}
    program, *more = PROGRAMS[name]
    # NUTS as printed takes 8,000 steps; a test needs fewer to see that the lines run
    shorter = program.replace("key=jax.random.key(0))", "key=jax.random.key(0), num_samples=100, num_warmup=100)")
    assert shorter != program
    with jax.numpy_rank_promotion("allow"):  # as it is for users; NumPyro's samplers promote ranks
        for lines in (shorter, *more):
            exec(lines, scope)
            if lines is shorter:
                exact = scope["post"].predict_proba(scope["X"])
                assert [table.shape for table in scope["probabilities"]] == [(200, 2)] * 4
                assert_allclose(scope["probabilities"][3], exact, atol=0.1)
                if "fast" in scope:
                    assert_allclose(scope["fast"](scope["X"]), exact, atol=1e-4)
    return scope


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:do not trust these draws yet")
def test_the_lines_run():
    assert run_lines("README")["exact"].log_evidence < 0


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:do not trust these draws yet")
def test_the_lines_of_the_tour_run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # a line saves a file
    scope = run_lines("tour")
    assert np.isfinite(scope["evidence"])
    assert scope["draws"]["flags_probs"].shape == (1000, 2, 3)
    assert scope["each"].shape == (200, 2)
    for name in ("learned", "averaged", "honest", "semi"):
        assert_allclose(scope[name].predict_proba(scope["X"]).sum(axis=1), 1.0, rtol=1e-5)


def test_one_screen():
    assert len(README.splitlines()) <= 100


def test_what_it_points_at_exists():
    for target in re.findall(r"\]\(([^)h][^)]*)\)", README):
        assert (ROOT / target).exists(), target


@pytest.mark.slow
def test_the_scores_are_those_of_the_first_command():
    methods = ("MLE", "MAP", "full Bayes", "tempered", "feature weights", "default")
    result = compared(make_table(open_data("breast_cancer")), (398,), 20, 0, methods)
    behind = {name: result.difference(398, name, "log_loss") for name in ("MLE", "MAP")}
    loss = {name: number(result.mean(398, name, "log_loss")[0]) for name in methods}
    lead = [" ± ".join([number(-mean), number(error)]) for mean, error in behind.values()]
    assert f"at 398 rows full Bayes is {lead[0]} nats behind MLE and {lead[1]} behind MAP" in WHY
    cut = f"full Bayes from {loss['full Bayes']} to {loss['tempered']} and {loss['feature weights']}."
    assert f"At 398 rows this cuts the log loss of {cut}" in WHY
    assert f"Its log loss at 398 rows is {loss['default']}." in WHY


@pytest.mark.parametrize("smoothing", [0.5, 1.0, 2.0])
def test_the_table_of_smoothings(smoothing):
    x, y, n, num_categories = np.array([[0], [0], [1], [0]]), np.zeros(4, int), 4, 3
    count = np.array([3, 1, 0])
    plain, raised = nb.Categorical(3, smoothing), nb.Categorical.laplace(3, smoothing)
    textbook = (count + smoothing) / (n + smoothing * num_categories)
    exact = [np.exp(nb.fit_posterior(nb.NaiveBayes(f), x, y).log_density([[0], [1], [2]])) for f in (plain, raised)]
    assert_allclose(exact[0], textbook)
    assert_allclose(exact[1], (count + 1 + smoothing) / (n + num_categories + smoothing * num_categories))
    assert_allclose(nb.fit_map(nb.NaiveBayes(raised), x, y).params["x_probs"][0, 0], textbook)
    if smoothing >= 1:
        mode = np.maximum(count + smoothing - 1, 0) / (n + smoothing * num_categories - num_categories)
        assert_allclose(nb.fit_map(nb.NaiveBayes(plain), x, y).params["x_probs"][0, 0], mode)
