"""Common style of plots: styles of methods and classes, names escaped for mathtext, a faint grid."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from bayesnb.compute.arrays import _limits as limits
from bayesnb.compute.arrays._placement import Array
from bayesnb.studies.comparison._methods import COMPARED

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

COLOURS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#000000", "#888888")
"""Colours of Okabe and Ito, safe for colour-blind people; marker, line and hatch separate classes in greyscale."""

MARKERS = "os^DvPX<>p"
LINES: tuple[Any, ...] = ("-", "--", "-.", ":", (0, (8, 2)), (0, (3, 1, 1, 1, 1, 1)), (0, (1, 3)))
CLASS_HATCHES = ("", "////", "....", "xxxx", "----", "\\\\\\\\", "||||", "oo", "++", "**")

FOR, AGAINST, NEUTRAL = "#0072B2", "#E69F00", "#999999"
"""Colours of evidence for a class, of evidence against it, and of bars that are not features."""

_DRAWN = sorted(((name, method.style) for name, method in COMPARED.items() if method.style), key=lambda m: m[1].layer)
STYLES = {name: style.line for name, style in _DRAWN}
"""Colour, marker and line of each method in the plots of a comparison, in the order of drawing."""

HATCHES = {name: style.hatch for name, style in _DRAWN}


def class_colour(k: int) -> str:
    """The colour of class k."""
    return COLOURS[k % len(COLOURS)]


def class_line(k: int) -> dict[str, Any]:
    """Colour, line and marker of class k; the combinations of the first 280 classes are distinct."""
    return {"color": class_colour(k), "linestyle": LINES[k % len(LINES)], "marker": MARKERS[k % len(MARKERS)]}


def method_lines(names: Sequence[str]) -> dict[str, dict[str, Any]]:
    """The lines of methods; those without a style of their own have small markers, and first colours that are left."""
    taken = {STYLES[name]["color"] for name in names if name in STYLES}
    others = [name for name in names if name not in STYLES]
    left = [k for k in range(len(COLOURS) + len(others)) if k >= len(COLOURS) or COLOURS[k] not in taken]
    own = {name: {**class_line(k), "markersize": 4} for name, k in zip(others, left, strict=False)}
    return {name: own.get(name) or STYLES[name] for name in names}


def class_hatch(k: int) -> str:
    """The hatch of class k."""
    return CLASS_HATCHES[k % len(CLASS_HATCHES)]


def escape_dollars(name: str) -> str:
    """The name with its dollar signs escaped, which would start mathtext."""
    return name.replace("$", r"\$")


def shorten(name: str) -> str:
    """The name, escaped, with its middle left out if it is long."""
    return escape_dollars(name if len(name) <= limits.NAME_LENGTH else f"{name[: limits.NAME_LENGTH - 9]}…{name[-8:]}")


def heading(one: str, other: str) -> str:
    """The title of a plot that compares two classes; on two lines if one would be long."""
    pair = f"{shorten(one)} against", shorten(other)
    return (" " if sum(map(len, pair)) <= limits.NAME_LENGTH else "\n").join(pair)


def tidy(ax: Axes) -> Axes:
    """Draw a faint grid, and remove the top and right spines."""
    ax.grid(alpha=0.3, linewidth=0.6)
    ax.set_axisbelow(True)
    ax.spines[["top", "right"]].set_visible(False)
    return ax


def name_lines(ax: Axes, places: Array, names: Sequence[str]) -> Axes:
    """Write the names of lines from the top down, and draw a faint grid without horizontal lines."""
    ax.set_yticks(places, [shorten(name) for name in names], fontsize=8)
    ax.set_ylim(places[-1] + 0.6, -0.6)
    ax.tick_params(axis="y", length=0)
    tidy(ax).grid(visible=False, axis="y")
    return ax


def legend_below(figure: Figure, ax: Axes, names: Sequence[str]) -> None:
    """The legend of some lines of the axes, below all panels, in as few rows as the figure's width allows."""
    handles, labels = ax.get_legend_handles_labels()
    by_label, count = dict(zip(labels, handles, strict=True)), len(names)
    for rows in range(1, count + 1):
        given = [by_label[name] for name in names], [*map(shorten, names)]
        legend = figure.legend(*given, loc="outside lower center", ncols=-(-count // rows), frameon=False)
        if rows == count or legend.get_window_extent().width <= figure.bbox.width:
            return
        legend.remove()
