"""The examples in docstrings print what they say."""

from __future__ import annotations

import doctest
import importlib
import pkgutil
from pathlib import Path

import pytest

import bayesnb as nb

PACKAGE = Path(nb.__file__).parent
MODULES = [module.name for module in pkgutil.walk_packages([str(PACKAGE)], "bayesnb.")]
SHOWN = ["fit_mle", "fit_map", "fit_posterior", "temper", "leave_one_out", "feature_inclusion", "save"]
SHOWN += ["NaiveBayesClassifier"]


def source(module):
    """The file of a module, which need not be imported for it."""
    path = PACKAGE.joinpath(*module.split(".")[1:])
    return (path / "__init__.py" if path.is_dir() else path.with_suffix(".py")).read_text(encoding="utf-8")


@pytest.mark.parametrize("module", [name for name in MODULES if ">>> " in source(name)])
def test_the_examples_of_a_module(module):
    try:
        imported = importlib.import_module(module)
    except ModuleNotFoundError as error:
        if error.name is None or error.name.startswith("bayesnb"):
            raise
        pytest.skip(f"{module} needs {error.name}, which is not installed")
    found = [test for test in doctest.DocTestFinder().find(imported) if test.examples]
    runner = doctest.DocTestRunner(verbose=False)
    report: list[str] = []
    for test in found:
        runner.run(test, out=report.append)
    assert found
    assert runner.failures == 0, "\n".join(report)


@pytest.mark.parametrize("name", SHOWN)
def test_what_is_used_first_has_an_example(name):
    assert ">>> " in getattr(nb, name).__doc__
