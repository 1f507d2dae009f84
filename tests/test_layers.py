"""Folders are layers: modules import downwards, and never in a circle. CONTRIBUTING holds the list of layers."""

from __future__ import annotations

import ast
import re
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
LAYERS = re.findall(r"^\| `(\w+)` \|", (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8"), flags=re.M)
"""From the top down."""

FILES = {path.relative_to(ROOT): ast.parse(path.read_text(encoding="utf-8")) for path in ROOT.glob("bayesnb/*/**/*.py")}


def name_of(path: Path) -> str:
    parts = path.with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


MODULES = {name_of(path): tree for path, tree in FILES.items()}


def imports(tree: ast.Module) -> set[str]:
    """The modules of bayesnb that a file imports anywhere, under ``TYPE_CHECKING`` too."""
    found: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom):
            assert not node.level, "imports are absolute"
            names = {f"{node.module}.{alias.name}" for alias in node.names}
            found |= {name if name in MODULES else str(node.module) for name in names}
        elif isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
    return {name for name in found if name in MODULES}


def upward(graph: dict[str, set[str]], layers: list[str]) -> list[tuple[str, str]]:
    place = {layer: number for number, layer in enumerate(layers)}
    return [(a, b) for a in graph for b in graph[a] if place[b.split(".")[1]] < place[a.split(".")[1]]]


GRAPH = {name: imports(tree) - {name} for name, tree in MODULES.items()}


def test_every_folder_is_a_layer_and_nothing_lies_flat():
    top = [path for path in (ROOT / "bayesnb").iterdir() if path.is_file() or any(path.glob("**/*.py"))]
    assert len(LAYERS) == 18
    assert {path.name for path in top if path.is_dir()} == {*LAYERS}
    assert {path.name for path in top if path.is_file()} == {"__init__.py", "__init__.pyi", "__main__.py", "py.typed"}


def test_no_import_runs_up():
    assert upward(GRAPH, LAYERS) == []


def test_no_two_modules_import_each_other():
    TopologicalSorter(GRAPH).prepare()  # raises CycleError


def imported_names(tree: ast.Module) -> set[tuple[str, str]]:
    """The names that a file imports from modules of bayesnb, each with its module."""
    nodes = [node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) and node.module in MODULES]
    return {(str(node.module), alias.name) for node in nodes for alias in node.names}


def test_names_of_files_are_imported_from_the_modules_that_define_them():
    packages = {name_of(path) for path in FILES if path.name == "__init__.py"}
    readers = {name for name in MODULES if name.startswith("bayesnb.files.")} - packages
    passed_on = {(module, name) for module in readers for _, name in imported_names(MODULES[module])}
    assert passed_on & {pair for tree in MODULES.values() for pair in imported_names(tree)} == set()


def test_an_upward_import_and_a_circle_are_found():
    low, high = f"bayesnb.{LAYERS[-1]}", f"bayesnb.{LAYERS[0]}"
    assert upward({low: {high}, high: set()}, LAYERS) == [(low, high)]
    with pytest.raises(ValueError, match="cycle"):
        TopologicalSorter({low: {high}, high: {low}}).prepare()


def test_what_a_folder_knows_is_said_in_three_sentences():
    for layer in LAYERS:
        words = ast.get_docstring(MODULES[f"bayesnb.{layer}"])
        assert words is not None
        assert len(re.findall(r"[.!?](?=\s|$)", words)) <= 3


FAMILIES = {"Bernoulli", "Binomial", "Categorical", "Multinomial", "MultivariateNormal", "Normal", "Poisson"}


def names_of_families(name: str) -> set[str]:
    """The family classes that a module imports, or takes from the package of families."""
    imported = {
        alias.name for node in ast.walk(MODULES[name]) if isinstance(node, ast.ImportFrom) for alias in node.names
    }
    taken = {
        node.attr
        for node in ast.walk(MODULES[name])
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "families"
    }
    return (imported | taken) & FAMILIES


def test_nobody_outside_asks_which_family_it_is():
    """Scikit-learn's classes are each for one family; ``families.words`` has the words of the command line."""
    outside = [name for name in MODULES if name.split(".")[1] != "families" and ".dropin." not in name]
    assert {name: names_of_families(name) for name in outside if names_of_families(name)} == {}
    assert names_of_families("bayesnb.families.words") == FAMILIES - {"Binomial", "MultivariateNormal"}
