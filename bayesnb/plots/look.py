"""What pictures have in common: a style for each class, names that are no formulas, a faint grid."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.axes import Axes

COLOURS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#000000", "#888888")
"""Of Okabe and Ito, which the colour-blind tell apart; marker, line and hatch tell classes apart in grey."""

MARKERS = "os^DvPX<>p"
LINES: tuple[Any, ...] = ("-", "--", "-.", ":", (0, (8, 2)), (0, (3, 1, 1, 1, 1, 1)), (0, (1, 3)))
HATCHES = ("", "////", "....", "xxxx", "----", "\\\\\\\\", "||||", "oo", "++", "**")

FOR, AGAINST, NEUTRAL = "#0072B2", "#E69F00", "#999999"
"""What speaks for a class, against it, and what is no feature."""

LONGEST = 32
"""Characters of a name that are shown."""


def class_colour(k: int) -> str:
    """The colour of class k."""
    return COLOURS[k % len(COLOURS)]


def class_line(k: int) -> dict[str, Any]:
    """Colour, line and marker of class k; no two of 280 classes have the same three."""
    return {
        "color": class_colour(k),
        "linestyle": LINES[k % len(LINES)],
        "marker": MARKERS[k % len(MARKERS)],
    }


def class_hatch(k: int) -> str:
    """The hatch of class k."""
    return HATCHES[k % len(HATCHES)]


def escaped(name: str) -> str:
    """A name in which a dollar sign begins no formula."""
    return name.replace("$", r"\$")


def shown(name: str) -> str:
    """A name that is not too long."""
    return escaped(name if len(name) <= LONGEST else f"{name[: LONGEST - 9]}…{name[-8:]}")


def heading(one: str, other: str) -> str:
    """Which two classes a picture compares; on two lines where one would be long."""
    pair = f"{shown(one)} against", shown(other)
    return (" " if sum(map(len, pair)) <= LONGEST else "\n").join(pair)


def tidy(ax: "Axes") -> "Axes":
    """Draw a faint grid, and no box."""
    ax.grid(alpha=0.3, linewidth=0.6)
    ax.set_axisbelow(True)
    ax.spines[["top", "right"]].set_visible(False)
    return ax
