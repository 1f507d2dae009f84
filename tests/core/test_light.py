"""The core without an extra, where the lane of the light core installs it: nothing of an extra is there, or missed."""

import os
import subprocess
import sys
from importlib.util import find_spec

import pytest

import bayesnb as nb
from bayesnb.compute.arrays._extras import EXTRAS, MissingExtra

LIGHT = bool(os.environ.get("BAYESNB_LIGHT"))


@pytest.mark.skipif(not LIGHT, reason="it is for the lane of the light core")
def test_no_package_of_an_extra_is_here():
    assert [name for name in EXTRAS if find_spec(name)] == []


@pytest.mark.skipif(not LIGHT, reason="it is for the lane of the light core")
def test_the_command_says_what_it_needs():
    done = subprocess.run([sys.executable, "-m", "bayesnb", "compare", "iris"], capture_output=True, text=True)
    words = "the command bayesnb needs pandas, scikit-learn and matplotlib: pip install 'bayesnb[studies]'\n"
    assert (done.returncode, done.stdout, done.stderr) == (1, "", words)


WITHOUT = """
import sys
sys.modules.update(dict.fromkeys({names}))  # None: as if not installed
import bayesnb as nb
{code}
"""


def without(code, names=tuple(EXTRAS)):
    """What a process without these packages says."""
    code = WITHOUT.format(names=names, code=code)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    return done.stdout + done.stderr.split("\n")[-2] if done.returncode else done.stdout


NAMES = """
for name in ("NaiveBayesClassifier", "fit_table", "sklearn", "results.TableSchema", "experiment", "plots"):
    try:
        eval(f"nb.{name}")
    except ModuleNotFoundError as error:
        print(error)
"""


def test_each_name_says_what_it_needs():
    tables = "needs pandas and scikit-learn: pip install 'bayesnb[tables]'"
    studies = "needs pandas, scikit-learn and matplotlib: pip install 'bayesnb[studies]'"
    assert without(NAMES).splitlines() == [
        f"NaiveBayesClassifier {tables}",
        f"fit_table {tables}",
        f"bayesnb.sklearn {tables}",
        f"results.TableSchema {tables}",
        f"experiment {studies}",
        f"bayesnb.plots {studies}",
    ]


FIT = "post = nb.fit_posterior(nb.NaiveBayes(nb.Bernoulli(a=9.0)), [[1], [0], [0], [0]], [0, 0, 1, 1])\n"


def test_fits_are_made_and_answer(tmp_path):
    code = f"""
import jax
nb.save(post, {str(tmp_path / "fit")!r})
again = nb.load({str(tmp_path / "fit")!r})
print((again.predict_proba([[1]]) == post.predict_proba([[1]])).all())
print(str(nb.prior_sensitivity(post)).split()[:2], "part" in nb.explain(post, [[1]])._repr_html_())
to_arviz = lambda: nb.to_arviz(post, key=jax.random.key(0))
for call in (nb.prior_sensitivity(post).frame, nb.explain(post, [[1]]).to_frame, to_arviz):
    try:
        call()
    except ModuleNotFoundError as error:
        print(error)
"""
    assert without(FIT + code).splitlines() == [
        "True",
        "['site', 'class'] True",
        "PriorSensitivity.frame needs pandas: pip install 'bayesnb[tables]'",
        "Explanation.to_frame needs pandas: pip install 'bayesnb[tables]'",
        "to_arviz needs arviz: pip install 'bayesnb[studies]'",
    ]


@pytest.mark.slow
def test_a_saved_estimator_needs_its_extra(tmp_path):
    try:
        clf = nb.NaiveBayesClassifier("bernoulli").fit([[1], [0]], [0, 1])
    except MissingExtra:
        pytest.skip("it cannot be made here")
    nb.save(clf, tmp_path / "clf")
    said = without(f"nb.load({str(tmp_path / 'clf')!r})")
    assert said.endswith("the file of an estimator needs pandas and scikit-learn: pip install 'bayesnb[tables]'")
    assert "StorageError" in said
