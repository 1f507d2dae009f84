"""The public names and their signatures, as ``public_api.txt`` has them: a change is told in CHANGELOG.md first.

    python -m tests.test_public_api

writes the file anew. Annotations are left out; they change nothing for callers.
"""

import inspect
from difflib import unified_diff
from pathlib import Path
from typing import Any

import bayesnb as nb
from tests.names import public_names

FILE = Path(__file__).with_name("public_api.txt")


def signature(function: Any) -> str:
    """The parameters with their defaults."""
    try:
        found = inspect.signature(function)
    except (TypeError, ValueError):
        return ""
    plain = [
        one.replace(annotation=one.empty, default=one.default if one.default is one.empty else _Shown(one.default))
        for one in found.parameters.values()
    ]
    return str(found.replace(parameters=plain, return_annotation=found.empty))


class _Shown:
    """A default as it is written, or its type where Python writes an address."""

    def __init__(self, value: Any) -> None:
        self.text = f"<{type(value).__name__}>" if " at 0x" in repr(value) or callable(value) else repr(value)

    def __repr__(self) -> str:
        return self.text


def methods(kind: type) -> dict[str, str]:
    """The methods and properties of a class that are written in this package."""
    found = {}
    for name in dir(kind):
        one = inspect.getattr_static(kind, name)
        read = getattr(one, "fget", getattr(one, "func", None))  # of a property
        function = read or getattr(one, "__func__", one)
        if not name.startswith("_") and str(getattr(function, "__module__", "")).startswith("bayesnb"):
            found[name] = "" if read else signature(function)
    return found


def lines() -> list[str]:
    """A line for each name, sorted."""
    found = []
    for name in public_names():
        value: Any = nb
        for part in name.split("."):
            value = getattr(value, part)
        found.append(name + (signature(value) if inspect.isfunction(value) or inspect.isclass(value) else ""))
        if inspect.isclass(value) and (value is nb.Family or not issubclass(value, nb.Family)):
            found += [f"{name}.{method}{given}" for method, given in methods(value).items()]
    return sorted(found)


def test_names_and_signatures_are_those_of_the_file():
    written = FILE.read_text(encoding="utf-8").splitlines()
    changes = list(unified_diff(written, lines(), "public_api.txt", "bayesnb", lineterm="", n=0))
    told = "the public API has changed: tell it in CHANGELOG.md, then run python -m tests.test_public_api\n"
    assert not changes, told + "\n".join(changes)


def test_the_version_is_the_same_everywhere():
    root, version = FILE.parents[1], nb.__version__
    for name, written in {
        "pyproject.toml": f'version = "{version}"',
        "docs/conf.py": f'release = "{version}"',
        "CITATION.cff": f"version: {version}",
        "docs/citation.md": f"{{{version}}}",
        "README.md": f"version {version}.",
        "CHANGELOG.md": f"## {version} (",
    }.items():
        assert written in (root / name).read_text(encoding="utf-8"), name


if __name__ == "__main__":
    FILE.write_text("\n".join(lines()) + "\n", encoding="utf-8")
