"""Docstrings as they stand in the code, in plain text, made into what Sphinx reads."""

from __future__ import annotations

import inspect
import re
from typing import Any

from sphinx.application import Sphinx

REQUEST = re.compile(r"set_\w+_request")
SECTION = re.compile(r"(Args|Attributes|Raises|Returns|Yields|Example|Examples):$")
TRAILING = re.compile(r"(?<![`\w])(\w*[A-Za-z0-9])_(?![\w`])")

GREEK = {
    *("alpha", "beta", "gamma", "delta", "theta", "lambda", "mu", "nu", "pi", "rho", "sigma", "tau", "phi", "psi"),
}
OPERATORS = {"log", "exp", "sum", "max", "min"}
SYMBOL = rf"(?:{'|'.join(sorted(GREEK))}|Sigma|[A-Za-z])2?_\w{{1,3}}(?=[\s.,;:]|$)"
INLINE = re.compile(
    rf"(?<![\w.^)\]])(?:\w+(?: \| \w+(?: = \w)?)?(?:, n = sum x_n)? ~ [A-Z]\w*\([^()]*\)"  # x | y ~ Name(parameters)
    rf"|\([^()]*_[^()]*\) / \([^()]*\)|{SYMBOL})"
)


def indent(line: str) -> int:
    """Spaces before the text."""
    return len(line) - len(line.lstrip())


def latex(line: str) -> str:
    """A formula in plain text, as those of docstrings are, in LaTeX.

    Greek letters are spelt, ``mu_kd`` has subscripts and ``sigma2_k`` a square; words of small letters are text.
    """

    def word(found: re.Match[str]) -> str:
        name, square, below = found.groups()
        distribution = found.string[: found.start()].endswith(r"\sim ")  # Beta and Gamma
        if not distribution and (name.lower() in GREEK or name in OPERATORS):
            name = f"\\{name}"
        elif len(name) > 1:
            name = rf"\mathrm{{{name}}}" if name[0].isupper() else rf"\text{{ {name} }}"
        return name + ("^2" if square else "") + (f"_{{{below}}}" if below else "")

    line = line.strip().replace("``", "").replace("{", r"\{").replace("}", r"\}").replace("...", r"\dots")
    line = (
        re.sub(r"\^(-?\d+)", r"^{\1}", re.sub(r" {2,}", r"\\quad ", line)).replace("~", r"\sim").replace("|", r"\mid")
    )
    return re.sub(r"(?<![\\A-Za-z])([A-Za-z]+)(2?)(?:_(\w+))?", word, line)


def formulas(lines: list[str], as_mathematics: bool = False) -> list[str]:
    """Indented lines after an empty one, which are formulas or code, as literal blocks, or as mathematics."""
    done: list[str] = []
    inside = section = False
    lines = in_sentences(lines) if as_mathematics else lines
    for number, line in enumerate(lines):
        if not line.strip():
            done.append(line)
            continue
        if indent(line) == 0:
            inside, section = False, bool(SECTION.match(line))
        elif not inside and not section and number > 0 and not lines[number - 1].strip():
            inside = True
            done += [".. math::" if as_mathematics else ".. code-block:: text", ""]
        if inside and as_mathematics:
            follows = number + 1 < len(lines) and lines[number + 1].strip()
            line = f"    &{latex(line)}" + (r" \\" if follows else "")
        done.append(line if inside or line.lstrip().startswith(">>>") else plain(line))
    return done


def in_sentences(lines: list[str]) -> list[str]:
    """The lines with the formulas inside sentences as mathematics; lines of one paragraph become one."""
    text = re.sub(r"(?<=[^\n:])\n(?=[^\s>])", " ", "\n".join(lines))
    parts = re.split(r"(``.*?``|^ .*$)", text, flags=re.M)
    parts[::2] = [INLINE.sub(lambda found: f":math:`{latex(found[0])}`", part) for part in parts[::2]]
    return "".join(parts).split("\n")


def plain(line: str) -> str:
    """Names that end in an underscore, as those of scikit-learn do, are no links; nor is a star the start of one."""
    bullet, line = re.match(r"(\s*(?:\* )?)(.*)", line).groups()  # type: ignore[union-attr]
    parts = re.split(r"(``.*?``|`.*?`)", line)
    parts[::2] = [TRAILING.sub(r"\1\\_", part).replace("*", r"\*").replace("|", r"\|") for part in parts[::2]]
    return bullet + "".join(parts)


def process(app: Sphinx, what: str, name: str, obj: Any, options: Any, lines: list[str]) -> None:
    """Called for each docstring, before napoleon reads its sections."""
    del what, name, obj, options
    lines[:] = formulas(lines, app.env.docname.startswith("theory/"))


def of_values(app: Sphinx, what: str, name: str, obj: Any, options: Any, lines: list[str]) -> None:
    """Called after napoleon, which takes what a value's docstring says before a colon for its type."""
    del app, name, options
    if what == "property":
        lines[:] = [*formulas((inspect.getdoc(obj) or "").splitlines()), ""]


def skip(app: Sphinx, what: str, name: str, obj: Any, skipped: bool, options: Any) -> bool | None:
    """Leave out what scikit-learn adds to every estimator, whose text links into its own pages."""
    del app, what, obj, skipped, options
    return True if REQUEST.fullmatch(name) else None


def setup(app: Sphinx) -> dict[str, Any]:
    """Read every docstring so."""
    app.connect("autodoc-process-docstring", process, priority=400)
    app.connect("autodoc-process-docstring", of_values, priority=600)
    app.connect("autodoc-skip-member", skip)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
