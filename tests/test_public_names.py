"""The public names: where they come from, what they load, and that what a function returns has a name, too."""

import inspect
import re
import subprocess
import sys
from importlib.util import find_spec

import pytest
from numpy.testing import assert_array_equal

import bayesnb as nb
from bayesnb import _ELSEWHERE as ELSEWHERE
from bayesnb import LEFT
from tests.conftest import DOCS

FUNCTIONS = [name for name in nb.__all__ if inspect.isfunction(getattr(nb, name))]


HEAVY = {"jax", "numpyro", "sklearn", "pandas", "matplotlib", "arviz", "click", "rich", "funsor"}


def loaded_after(code: str) -> set[str]:
    """Which of the heavy libraries a new process has loaded."""
    check = f"import sys; {code}; print(*{HEAVY} & {{*sys.modules}})"
    done = subprocess.run([sys.executable, "-c", check], capture_output=True, text=True, check=True)
    return set(done.stdout.split("\n")[-2].split())


def test_importing_loads_nothing_heavy():
    assert loaded_after("import bayesnb; bayesnb.__version__") == set()
    assert loaded_after("from bayesnb import NaiveBayes") == {"jax", "numpyro"}


def test_help_loads_nothing_heavy():
    imports = "from contextlib import suppress; from bayesnb.studies.cli import main"
    code = f"{imports}\nwith suppress(SystemExit): main(['--help'])\n1"
    assert loaded_after(f"exec({code!r})") <= {"click", "rich"}


@pytest.mark.parametrize("name", sorted({*nb.__all__} - {"plots", "results", "sklearn"}))
def test_no_name_hides_a_module(name):
    assert find_spec(f"bayesnb.{name}") is None


@pytest.mark.parametrize("name", FUNCTIONS)
def test_what_a_function_returns_is_public(name):
    said = str(inspect.signature(getattr(nb, name)).return_annotation)
    own = {
        word for word in re.findall(r"\b[A-Z]\w+", said) if word not in ("Any", "None", "Fit", "Merged")
    }  # what was given
    assert own <= {*nb.__all__, *nb.results.__all__}, f"{name} returns {said}"


@pytest.mark.parametrize(
    ("wrong", "right"),
    [
        ("fit_bayes", "fit_posterior"),
        ("fit_postrior", "fit_posterior"),
        ("fit_mcmc", "fit_nuts"),
        ("loo", "leave_one_out"),
        ("normal", "Normal"),
        ("GaussianNB", "sklearn.GaussianNB"),
    ],
)
def test_a_wrong_name_suggests_the_right_one(wrong, right):
    with pytest.raises(AttributeError, match=rf"no attribute '{wrong}': did you mean {right}\?$"):
        getattr(nb, wrong)


@pytest.mark.parametrize("name", LEFT)
def test_a_name_that_has_left_says_what_to_do_instead(name):
    with pytest.raises(AttributeError, match=rf"^nb\.{name} has left: .+, docs/how_to/in_two_lines\.md$"):
        getattr(nb, name)
    assert name not in nb.__all__
    assert (DOCS / "how_to" / "in_two_lines.md").exists()


def test_names_of_other_packages_lead_to_names_of_this_one():
    for right in ELSEWHERE.values():
        home, _, name = right.rpartition(".")
        assert name in (getattr(nb, home) if home else nb).__all__


def test_types_of_results_keep_the_names_of_the_first_version():
    assert nb.Explanation is nb.results.Explanation
    assert {"Explanation"} & {*nb.__all__} == set()
    assert all(inspect.isclass(getattr(nb.results, name)) for name in nb.results.__all__)
    with pytest.raises(AttributeError, match=r"'bayesnb\.results' has no attribute 'Explantion'"):
        nb.results.Explantion  # noqa: B018


def test_a_name_that_is_like_no_other_gets_no_suggestion():
    with pytest.raises(AttributeError, match=r"no attribute 'zebra'$"):
        nb.zebra  # noqa: B018


def test_help_is_a_table_of_contents():
    """Every function and every likelihood stands in it."""
    missing = {name for name in FUNCTIONS if not re.search(rf"\b{name}\b", nb.__doc__)}
    assert missing == set()
    assert all(re.search(rf"\b{name}\b", nb.__doc__) for name in nb.Family.known if name in nb.__all__)


def test_a_name_that_is_not_there():
    with pytest.raises(AttributeError, match="fit_map2"):
        nb.fit_map2  # noqa: B018


def test_rows_are_taken_by_name_alone():
    model, rows = nb.NaiveBayes(nb.Bernoulli()), {"X": [[0.0], [1.0], [1.0]], "y": [0, 1, 0]}
    for function in (nb.fit_mle, nb.fit_map, nb.fit_posterior, nb.sufficient_statistics):
        function(model=model, **rows)
    fit = nb.fit_posterior(model, **rows)
    nb.leave_one_out(model=model, **rows)
    assert_array_equal(fit.predict_proba(X=rows["X"]), fit.predict_proba(rows["X"]))
