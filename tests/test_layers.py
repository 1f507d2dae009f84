"""Seven wings with floors: modules import downwards, and never in a circle. CONTRIBUTING lists the floors."""

from __future__ import annotations

import ast
import re
import tomllib
from functools import cache
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

import bayesnb.core.families._open_categorical  # noqa: F401
from bayesnb.compute.arrays._extras import EXTRAS
from bayesnb.families import Family

ROOT = Path(__file__).parents[1]
LAYERED, ARGUED = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8").split("## The dependencies")
LAYERS = re.findall(r"^\| `([\w/]+)` \|", LAYERED.partition("## The layers")[2], flags=re.M)
"""The floors from the top down, each with its wing."""

WINGS = {
    "studies": {"tables", "inspection", "learned", "recognition", "core", "compute"},
    "tables": {"inspection", "learned", "recognition", "core", "compute"},
    "inspection": {"learned", "core", "compute"},
    "learned": {"core", "compute"},
    "recognition": {"core", "compute"},
    "core": {"compute"},
    "compute": set(),
}
"""Each with the others that it may import from."""

LINES = {
    "studies": 7690, "tables": 10890, "inspection": 3280, "learned": 3780, "recognition": 2930, "core": 15340,
    "compute": 5940,
}  # fmt: skip
"""The most lines of each wing."""

DOORS = {"families", "results", "plots", "sklearn"}
"""The modules beside the wings: public names of what lies in them."""

PATHS = [path.relative_to(ROOT) for path in sorted(ROOT.glob("bayesnb/*/**/*.py"))]


def name_of(path: Path) -> str:
    parts = path.with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


@cache
def modules() -> dict[str, ast.Module]:
    """Parsed by the first test that asks, not in every process that collects the tests."""
    return {name_of(path): ast.parse((ROOT / path).read_text(encoding="utf-8")) for path in PATHS}


def imports(tree: ast.Module) -> set[str]:
    """The modules of bayesnb that a file imports anywhere, under ``TYPE_CHECKING`` too."""
    found: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom):
            assert not node.level, "imports are absolute"
            names = {f"{node.module}.{alias.name}" for alias in node.names}
            found |= {name if name in modules() else str(node.module) for name in names}
        elif isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
    return {name for name in found if name in modules()}


def wing_of(name: str) -> str:
    return name.split(".")[1]


def floor_of(name: str) -> str:
    """The folder of its wing, or the wing, that a module lies in."""
    wing, _, rest = name.removeprefix("bayesnb.").partition(".")
    floor = f"{wing}/{rest.split('.')[0]}"
    return floor if floor in LAYERS else wing


def upward(imported: dict[str, set[str]]) -> list[tuple[str, str]]:
    """The imports that leave their wing upwards or sideways, or climb inside of it."""
    place = {layer: number for number, layer in enumerate(LAYERS)}
    pairs = [(a, b) for a in imported for b in imported[a]]
    return [
        (a, b)
        for a, b in pairs
        if (
            place[floor_of(b)] < place[floor_of(a)] if wing_of(a) == wing_of(b) else wing_of(b) not in WINGS[wing_of(a)]
        )
    ]


@cache
def graph() -> dict[str, set[str]]:
    return {name: imports(tree) - {name} for name, tree in modules().items()}


def test_the_top_folder_holds_seven_wings_and_the_doors():
    top = [path for path in (ROOT / "bayesnb").iterdir() if path.is_file() or any(path.glob("**/*.py"))]
    assert {path.name for path in top if path.is_dir()} == {*WINGS}
    modules_beside = {path.stem for path in top if path.suffix == ".py"}
    assert modules_beside == {"__init__", "__main__"} | DOORS
    flat = {path.parts[1] for path in PATHS if len(path.parts) == 3 and path.name != "__init__.py"}
    folders = {path.parent.relative_to("bayesnb").parts[:2] for path in PATHS if len(path.parts) > 3}
    assert {*LAYERS} == flat | {"/".join(folder) for folder in folders}


def test_no_import_runs_up():
    assert upward(graph()) == []


@pytest.mark.parametrize("wing", WINGS)
def test_each_wing_keeps_its_budget_of_lines(wing):
    files = [ROOT / path for path in PATHS if path.parts[1] == wing]
    assert sum(len(file.read_text(encoding="utf-8").splitlines()) for file in files) <= LINES[wing]


TABLES, PAGES = (
    {"pandas", "pyarrow", "narwhals", "sklearn"},
    {"click", "rich", "jinja2", "markupsafe", "matplotlib", "arviz"},
)


def loaded(tree: ast.Module) -> set[str]:
    """The packages that a module imports when it is loaded: not in its functions, nor for types alone."""
    found, nodes = set(), [*tree.body]
    while nodes:
        node = nodes.pop()
        if isinstance(node, ast.Import):
            found |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            found.add(str(node.module).split(".")[0])
        elif not isinstance(node, ast.FunctionDef) and ast.unparse(getattr(node, "test", node)) != "TYPE_CHECKING":
            nodes += ast.iter_child_nodes(node)
    return found


def test_lower_wings_load_no_package_of_tables_or_pages():
    below_tables = [name for name in modules() if wing_of(name) not in ("studies", "tables")]
    below_studies = [name for name in modules() if wing_of(name) != "studies"]
    assert {name: loaded(modules()[name]) & TABLES for name in below_tables if loaded(modules()[name]) & TABLES} == {}
    assert {name: loaded(modules()[name]) & PAGES for name in below_studies if loaded(modules()[name]) & PAGES} == {}
    assert loaded(modules()["bayesnb.studies.report._page"]) >= {"jinja2"}


def test_no_module_imports_from_a_door():
    """Doors are for users: what comes through them would pass by the test above."""
    found = {
        (name, node.module)
        for name, tree in modules().items()
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and node.module in {f"bayesnb.{door}" for door in DOORS}
    }
    assert found == set()


def test_no_two_modules_import_each_other():
    TopologicalSorter(graph()).prepare()  # raises CycleError


def imported_names(tree: ast.Module) -> set[tuple[str, str]]:
    """The names that a file imports from modules of bayesnb, each with its module."""
    nodes = [node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) and node.module in modules()]
    return {(str(node.module), alias.name) for node in nodes for alias in node.names}


def test_names_of_files_are_imported_from_the_modules_that_define_them():
    packages = {name_of(path) for path in PATHS if path.name == "__init__.py"}
    readers = {name for name in modules() if name.startswith("bayesnb.tables.files.")} - packages
    passed_on = {(module, name) for module in readers for _, name in imported_names(modules()[module])}
    assert passed_on & {pair for tree in modules().values() for pair in imported_names(tree)} == set()


def test_every_limit_is_used_and_defined():
    limits = modules()["bayesnb.compute.arrays._limits"]
    defined = {node.id for node in ast.walk(limits) if isinstance(node, ast.Name)}
    reads = [node for tree in modules().values() for node in ast.walk(tree) if isinstance(node, ast.Attribute)]
    assert {node.attr for node in reads if ast.unparse(node.value) == "limits"} == defined


def test_an_upward_import_and_a_circle_are_found():
    low, high = (f"bayesnb.{layer.replace('/', '.')}" for layer in (LAYERS[-1], LAYERS[0]))
    assert upward({low: {high}, high: set()}) == [(low, high)]
    for a, b in [("learned", "inspection"), ("recognition", "learned"), ("core.rows", "core.fits")]:
        assert upward({f"bayesnb.{a}": {f"bayesnb.{b}"}})
    with pytest.raises(ValueError, match="cycle"):
        TopologicalSorter({low: {high}, high: {low}}).prepare()


def test_what_a_folder_knows_is_said_in_three_sentences():
    for layer in {*LAYERS, *WINGS}:
        words = ast.get_docstring(modules()[f"bayesnb.{layer.replace('/', '.')}"])
        assert words is not None
        assert len(re.findall(r"[.!?](?=\s|$)", words)) <= 3


KNOWN = {name for name, family in Family.known.items() if family.__module__.startswith("bayesnb.")}
"""The families, and the classes that they share."""


def names_of_families(name: str) -> set[str]:
    """The family classes that a module names, but for ``f.register(Family)``, where a caller's function has a body for
    one, and the imports that these need.
    """
    nodes = [*ast.walk(modules()[name])]
    calls = [node for node in nodes if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)]
    registered = {id(arg) for call in calls if getattr(call.func, "attr", "") == "register" for arg in call.args}
    own = {node.name for node in nodes if isinstance(node, ast.ClassDef)}
    imported = {
        name for module, name in imported_names(modules()[name]) if module.startswith("bayesnb.core.families")
    } | own
    used = {node.id for node in nodes if isinstance(node, ast.Name) and id(node) not in registered}
    taken = {
        node.attr
        for node in nodes
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "families"
    }
    return (imported & used | taken) & KNOWN


def test_nobody_outside_asks_which_family_it_is():
    """Scikit-learn's classes are each for one family; ``families.FAMILIES`` has the words of the command line."""
    outside = [name for name in modules() if not name.startswith("bayesnb.core.families") and ".dropin." not in name]
    assert len(KNOWN) > 15
    assert {name: names_of_families(name) for name in outside if names_of_families(name)} == {}
    assert names_of_families("bayesnb.core.families._views") >= {"Histogram", "Normal"}


def test_the_contract_has_few_names():
    """What one caller needs of a family is a function beside that caller."""
    bases = [base for base in Family.__mro__ if base.__module__.startswith("bayesnb")]
    names = {name for base in bases for name in (*vars(base), *getattr(base, "__annotations__", {}))}
    assert len([name for name in names if not name.startswith("_")]) <= 45


QUESTIONS = {"namespace", "on_host", "is_traced"}
KINDS = {"np.ndarray", "jax.Array", "jax.core.Tracer"}


def asks_where_numbers_lie(tree: ast.Module) -> bool:
    """True if a file imports what tells numpy's, JAX's and traced arrays apart, or asks ``isinstance``."""
    imported = {name for module, name in imported_names(tree) if module == "bayesnb.compute.arrays._placement"}
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call) and len(node.args) == 2]
    tests = [node.args[1] for node in calls if isinstance(node.func, ast.Name) and node.func.id == "isinstance"]
    return bool(imported & QUESTIONS or {ast.unparse(test) for test in tests} & KINDS)


ASKING = {
    "core.families._histogram", "core.families._likelihood", "core.families._views", "core.fits._averaged",
    "core.fits._closed_form",
    "core.fits._multilabel", "core.model._naive_bayes", "core.results._classifier", "core.results._combine",
    "core.results._generate", "core.results._intervals", "core.rows._arguments", "core.rows._checks",
    "core.rows._labelled_rows", "core.rows._model_statistics", "core.rows._sufficient_statistics",
    "learned.forests._posterior", "learned.validation._leave_one_out", "learned.validation._temper",
    "core.storage._encoding", "core.storage._results", "recognition._observed_rows", "recognition._user_program",
    "tables.files.onnx._export",
    "tables.frames._classes", "tables.frames._series", "tables.sklearn._rows",
}  # fmt: skip
"""The files outside that still ask: edges where users' arrays come in, and bodies for numpy rows. None is added."""


def test_only_arrays_and_primitives_ask_where_numbers_lie():
    outside = [name for name in modules() if wing_of(name) != "compute"]
    asking = {name.removeprefix("bayesnb.") for name in outside if asks_where_numbers_lie(modules()[name])}
    assert asking == ASKING


def test_every_module_has_its_tests():
    """In the file of its name, in a folder that mirrors the package's; numbers and types alone need none."""
    without = {
        "compute.arrays._limits",
        "compute.arrays._typing",
        "learned.validation._temper_in_jax",
    }  # test_temper has those of the last
    names = [name.removeprefix("bayesnb.") for name in modules() if name.rpartition(".")[2].startswith("_")]
    files = {name: ROOT / "tests" / f"{name.replace('._', '.test_').replace('.', '/')}.py" for name in names}
    assert {name for name, file in files.items() if not file.exists()} == without


def test_no_test_module_imports_another():
    """What they share is a helper beside them or a fixture of the folder's ``conftest.py``; scripts in texts count."""
    importing = re.compile(r"^ *(?:from|import) [^#\n]*\btest_\w+", re.M)
    paths = sorted((ROOT / "tests").rglob("*.py"))
    lines = [f"{path.name}: {line}" for path in paths for line in importing.findall(path.read_text(encoding="utf-8"))]
    assert lines == []


def test_every_dependency_is_argued():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    rows = re.findall(r"^\| (.+?) \|.* \| *(\d*) *\|$", ARGUED.partition("## ")[0], flags=re.M)
    argued = [name for row, size in rows if size for name in re.findall(r"`(.+?)`", row)]
    assert sorted(argued) == sorted(re.split(r"[><=]", one)[0] for one in project["dependencies"])
    extras = {name for row, _ in rows if "`" not in row for name in row.split(", ")} - {"package", "extra"}
    assert extras == {*project["optional-dependencies"]}


def test_the_core_is_light_and_an_extra_brings_what_is_missed():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    brought = {extra: " ".join(packages) for extra, packages in project["optional-dependencies"].items()}
    imported = {"PIL": "pillow", "sklearn": "scikit-learn", "joblib": "scikit-learn", "xarray": "arviz"}
    for package, extra in EXTRAS.items():
        assert imported.get(package, package) in brought[extra]
        assert not [one for one in project["dependencies"] if one.startswith(imported.get(package, package))]
