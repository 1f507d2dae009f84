"""Public signatures say what they take and give: ``Any`` stands in none of them, unless it is said why."""

from __future__ import annotations

import ast
import inspect
import sys
import typing
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import pytest

import bayesnb as nb
from bayesnb.compute.arrays import _typing as public_types
from bayesnb.core.model._naive_bayes import NaiveBayes

REASONS = {
    "Hyperparameter": "numbers, arrays or NumPyro distributions, which have no types",
    "Names": "labels of classes: text, numbers or whatever can be sorted",
    "Tables": "of each family its own",
    "load(return)": "the file decides",
    "to_arviz(return)": "ArviZ has no types, and its versions return different classes",
    "NaiveBayes.certificate": "its class is in a layer above",
    "NaiveBayes.program_prior": "its class is in a layer above",
    "ModelStatistics.blocks": "of each family its own",
    "ModelStatistics.__init__(blocks)": "of each family its own",
    "ForestStatistics.__init__(blocks)": "of each family its own",
    "ModelStatistics.pool(return)": "of each family its own",
    "ModelStatistics.with_block(statistics)": "of each family its own",
    "describe_table(source)": "frames, queries and streams of Arrow of any library share no type",
    "fit_table(source)": "as of describe_table",
    "fit_file(source)": "as of describe_table",
    "fit_table(sample)": "as of describe_table",
    "fit_file(sample)": "as of describe_table",
    "predict_table(source)": "as of describe_table",
    "predict_table(return)": "a frame of the library of the source, or a table",
    "TableSchema.count(part)": "as of describe_table",
    "TableSchema.require(statistics)": "whatever a caller gives for statistics, to be refused in a sentence",
    "merge(parts)": "the keys of parts are names of any kind, of which each stands once",
    "experiment(sets)": "arrays, frames, paths, or models with rows, by name",
    "experiment(methods)": "names, estimators, functions and programs",
    "experiment(groups)": "labels of groups: text, numbers or whatever can be compared",
    "forward(return)": "a design that only experiment reads",
    "methods(method)": "a name, an estimator or a function",
    "methods(values)": "what the argument of the method may be",
    "methods(return)": "methods that only experiment reads",
    "Experiment.elpd(return)": "ArviZ's ELPDData, which has no type",
    "Scoring": "the contract of models and of families: parameters and rows are those of either",
}
"""Where ``Any`` may stand, a place or an alias, and why; those in ``bayesnb.compute.arrays._typing`` say it there."""


class Place(NamedTuple):
    """An annotation, where it stands, and the module in which its names have their meaning."""

    name: str
    annotation: Any
    module: str

    def owners(self) -> tuple[str, str]:
        return self.name, self.name.partition(".")[0]


def of_function(name: str, function: Any) -> Iterator[Place]:
    for argument, annotation in function.__annotations__.items():
        yield Place(f"{name}({argument})", annotation, function.__module__)


def of_class(owner: type) -> Iterator[Place]:
    """The constructor, and the public fields, methods and properties; of a likelihood what builds it.

    Its other methods are the contract of those who write one, on arrays that its base has checked.
    """
    builds = issubclass(owner, nb.Family)
    for base in owner.__mro__:
        if not base.__module__.startswith("bayesnb.") or (builds and base is not owner):
            continue
        fields = {} if builds else vars(base).get("__annotations__", {})
        for name, annotation in fields.items():
            if not name.startswith("_"):
                yield Place(f"{base.__name__}.{name}", annotation, base.__module__)
        for name, member in vars(base).items():
            function = inspect.unwrap(getattr(member, "__func__", getattr(member, "fget", member)))
            shown = name in ("__init__", "__call__") or not name.startswith(("_", "tree_"))  # JAX calls tree_flatten
            if inspect.isfunction(function) and shown and (not builds or name in ("__init__", "laplace")):
                yield from of_function(f"{base.__name__}.{name}", function)


def public_places() -> list[Place]:
    names = {name: getattr(nb, name) for name in nb.__all__}
    names |= {name: getattr(home, name) for home in (nb.sklearn, nb.results) for name in home.__all__}
    names |= {f"plots.{name}": value for name, value in vars(nb.plots).items() if not name.startswith("_")}
    classes = [place for value in names.values() if inspect.isclass(value) for place in of_class(value)]
    functions = {name: value for name, value in names.items() if inspect.isfunction(value)}
    return [*classes, *(place for name, value in functions.items() for place in of_function(name, value))]


def holds_any(meaning: object) -> bool:
    """Whether what a name means is ``Any``, or made of it; arrays are of any shape and any dtype."""
    if typing.get_origin(meaning) is np.ndarray:
        return False
    return meaning is Any or any(holds_any(part) for part in typing.get_args(meaning))


def untyped(place: Place) -> set[str]:
    """The names in an annotation that are ``Any``, or aliases that hold it."""
    text = getattr(place.annotation, "__forward_arg__", place.annotation)
    nodes, found = [ast.parse(str(text), mode="eval").body], set()
    while nodes:
        node = nodes.pop()
        if isinstance(node, ast.Subscript) and ast.unparse(node.value).endswith("ndarray"):
            continue
        if isinstance(node, ast.Name) and node.id not in public_types.__all__:
            found |= {node.id} if holds_any(getattr(sys.modules[place.module], node.id, None)) else set()
        else:
            nodes += ast.iter_child_nodes(node)
    return found


def test_no_public_signature_is_untyped():
    places = public_places()
    assert len(places) > 700
    found = {place.name: untyped(place) - {*REASONS} for place in places if not {*place.owners()} & {*REASONS}}
    assert {name: names for name, names in found.items() if names} == {}


def test_every_reason_is_needed():
    found = {place: untyped(place) for place in public_places()}
    used = {name for place, names in found.items() if names for name in (*names, *place.owners())}
    assert {*REASONS} <= used


def test_all_arguments_are_annotated():
    skipped = {"self", "cls"}
    for name in nb.__all__:
        if inspect.isfunction(value := getattr(nb, name)):
            assert {*inspect.signature(value).parameters} - skipped <= {*value.__annotations__}, name


@pytest.mark.parametrize(
    ("annotation", "names"),
    [
        ("Any", {"Any"}),
        ("Mapping[str, Any] | None", {"Any"}),
        ("Callable[..., Any]", {"Any"}),
        ("Hyperparameter", {"Hyperparameter"}),
        ("np.ndarray[Any, Any]", set()),
        ("dict[str, Array]", set()),
        ("Rows | None", set()),
        ("Sites", set()),
    ],
)
def test_any_is_found(annotation, names):
    assert untyped(Place("here", annotation, NaiveBayes.__module__)) == names
