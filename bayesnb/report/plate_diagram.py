"""The plate diagram (graphical model) of Naive Bayes, as inline SVG.

A circle is a random variable, grey if it is observed; arrows lead from the variables that its distribution depends on;
a plate repeats its content. Buntine, Operations for learning with graphical models (1994).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from markupsafe import Markup
from rich.cells import cell_len, set_cell_size

PITCH = 116  # distance between kinds of columns
MARGIN = 24
NARROWEST = 290  # leaves room for the text next to the circles
RADIUS = 19
LETTER = 7.6  # upper bound of the average width of a letter
PROBS, LABEL, FEATURES, PARAMS, HEIGHT = 34, 118, 206, 314, 426  # y of each row of circles, and the total height


@dataclass(frozen=True)
class Node:
    """A circle: its centre, its symbol, and whether the variable is observed."""

    x: float
    y: float
    symbol: str
    observed: bool = False


def plate_diagram(target: str, num_rows: int, num_classes: int, kinds: Mapping[str, Sequence[str]]) -> Markup:
    """Draw class probabilities -> class -> features <- parameters, one feature node for each kind of column.

    Args:
        target: The name of the class column; long names are cut.
        num_rows: The number of rows, on the row plate.
        num_classes: The number of classes, on the class plate.
        kinds: For each kind of column in the data, the number of columns in words, and the symbol of its parameters.
    """
    width = 2 * MARGIN + max(PITCH * len(kinds), NARROWEST)
    middle = width / 2
    start = middle - PITCH * (len(kinds) - 1) / 2
    probs, label = Node(middle, PROBS, "π"), Node(middle, LABEL, "y", observed=True)
    parts = [
        _text(middle + RADIUS + 8, PROBS, "class probabilities", "start"),
        _text(middle + RADIUS + 8, LABEL, _short(target, width / 2 - RADIUS - 20), "start"),
        _arrow(probs, label),
    ]
    nodes = [probs, label]
    for position, (kind, (count, symbol)) in enumerate(kinds.items()):
        x = start + PITCH * position
        feature, params = Node(x, FEATURES, "x", observed=True), Node(x, PARAMS, symbol)
        parts += [
            _plate(x - PITCH / 2 + 6, FEATURES - 30, PITCH - 12, PARAMS - FEATURES + 104),
            _text(x, PARAMS + 43, kind),
            _text(x, PARAMS + 61, count),
            _arrow(label, feature),
            _arrow(params, feature),
        ]
        nodes += [feature, params]
    parts += [  # drawn last, so that their labels are on top of the other plates
        _plate(6, LABEL - 44, width - 12, FEATURES - LABEL + 80, f"{num_rows:,} rows"),
        _plate(6, PARAMS - 50, width - 12, 82, f"{num_classes:,} classes"),
        *map(_circle, nodes),
    ]
    title = Markup("<title>Plate diagram: {} is drawn first, then every column given it</title>").format(target)
    size = f'viewBox="0 0 {width} {HEIGHT}" width="{width}" height="{HEIGHT}"'
    return Markup("<svg {} role='img' class='diagram'>{}{}</svg>").format(
        Markup(size), title, Markup("").join([_ARROW_HEAD, *parts])
    )


_ARROW_HEAD = Markup(
    '<defs><marker id="head" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto">'
    '<path class="head" d="M0 0 8 4 0 8Z"/></marker></defs>'
)


def _plate(x: float, y: float, width: float, height: float, label: str = "") -> Markup:
    rect = Markup('<rect class="plate" x="{}" y="{}" width="{}" height="{}" rx="8"/>').format(x, y, width, height)
    return rect + (_text(x + 10, y + 14, label, "start", "small") if label else "")


def _circle(node: Node) -> Markup:
    look = "node observed" if node.observed else "node"
    circle = Markup('<circle class="{}" cx="{}" cy="{}" r="{}"/>').format(look, node.x, node.y, RADIUS)
    return circle + _text(node.x, node.y, node.symbol, look="symbol")


def _arrow(tail: Node, head: Node) -> Markup:
    dx, dy = head.x - tail.x, head.y - tail.y
    away = RADIUS / (dx**2 + dy**2) ** 0.5  # so that both ends lie on the circles
    ends = (tail.x + away * dx, tail.y + away * dy, head.x - 1.1 * away * dx, head.y - 1.1 * away * dy)
    line = '<line class="arrow" x1="{:.1f}" y1="{:.1f}" x2="{:.1f}" y2="{:.1f}" marker-end="url(#head)"/>'
    return Markup(line).format(*ends)


def _text(x: float, y: float, text: str, anchor: str = "middle", look: str = "") -> Markup:
    return Markup('<text x="{}" y="{}" text-anchor="{}" class="{}">{}</text>').format(x, y, anchor, look, text)


def _short(name: str, width: float) -> str:
    room = int(width / LETTER)
    return name if cell_len(name) <= room else set_cell_size(name, room - 1).rstrip() + "…"
