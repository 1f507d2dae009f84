"""Every public name has an example in its docstring, and the examples print what they say."""

import doctest
import importlib
import inspect
import pkgutil
from pathlib import Path

import jax
import pytest

import bayesnb as nb
from bayesnb.compute.arrays import _typing as typing

PACKAGE = Path(nb.__file__).parent
MODULES = [module.name for module in pkgutil.walk_packages([str(PACKAGE)], "bayesnb.")]
SLOW = {"bayesnb.core.fits._nuts"}
SLOW |= {f"bayesnb.families.{name}" for name in ("histogram", "views")}
"""Modules whose examples compile a sampler, or the loops of cells, which take seconds where nothing is cached."""


def source(module):
    """The file of a module, which need not be imported for it."""
    path = PACKAGE.joinpath(*module.split(".")[1:])
    return (path / "__init__.py" if path.is_dir() else path.with_suffix(".py")).read_text(encoding="utf-8")


def public():
    """All that a user may call, by its name; constants have no docstring of their own, but that of their module."""
    own = {name: getattr(nb, name) for name in nb.__all__}
    inside = {module: value for module, value in own.items() if inspect.ismodule(value)}
    for module, values in inside.items():
        names = getattr(values, "__all__", [name for name in vars(values) if not name.startswith("_")])
        own |= {f"{module}.{name}": getattr(values, name) for name in names}
    return {name: value for name, value in own.items() if not inspect.ismodule(value)}


def example(name, value):
    """The docstring with the example of a public name."""
    if callable(value) and name not in typing.__all__:
        return vars(value).get("__doc__") if inspect.isclass(value) else value.__doc__
    if name in typing.__all__:  # an alias, which has no docstring of its own
        return typing.__doc__ if f"nb.{name}" in typing.__doc__ else None
    module = nb
    for part in name.split(".")[:-1]:
        module = getattr(module, part)
    return "\n".join(line for line in module.__doc__.splitlines() if name in line)


@pytest.mark.parametrize(
    "module",
    [
        pytest.param(name, marks=[pytest.mark.slow] if name in SLOW else [])
        for name in MODULES
        if ">>> " in source(name)
    ],
)
@pytest.mark.parametrize("promotion", ["standard", pytest.param("strict", marks=pytest.mark.slow)])
def test_the_examples_of_a_module(module, promotion):
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
        with jax.numpy_dtype_promotion(promotion):
            runner.run(test, out=report.append)
    assert found
    assert runner.failures == 0, "\n".join(report)


def test_every_public_name_has_an_example():
    without = [name for name, value in public().items() if ">>> " not in (example(name, value) or "")]
    assert len(public()) > 100
    assert without == []


def test_no_example_is_skipped():
    assert [name for name in MODULES if "+SKIP" in source(name)] == []
