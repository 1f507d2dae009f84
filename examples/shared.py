"""What the examples share: the option --out, a look for axes, and one sentence for every mistake."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NoReturn

from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

# dark and light apart, so that they differ in grey too
BLUE, ORANGE, GREY = "#0b4f8a", "#e08214", "#777777"


def parser(doc: str | None) -> argparse.ArgumentParser:
    """A parser that shows the module's docstring and knows --out."""
    options = argparse.ArgumentParser(description=doc, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--out", type=Path, default=Path("bayesnb-report"), help="folder of the picture (%(default)s)")
    return options


def parse(options: argparse.ArgumentParser, argv: Sequence[str] | None) -> argparse.Namespace:
    """The options, and the folder of --out made before any work is done."""
    chosen = options.parse_args(argv)
    try:
        chosen.out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        refuse(options, f"--out must name a folder that can be made, got {chosen.out} ({error.strerror}): name another")
    return chosen


def at_least(smallest: int) -> Callable[[str], int]:
    """The type of an option that is a whole number, no smaller than this."""

    def whole(text: str) -> int:
        if not text.isdecimal() or int(text) < smallest:
            raise argparse.ArgumentTypeError(f"a whole number of at least {smallest} is expected, got {text!r}")
        return int(text)

    return whole


def refuse(options: argparse.ArgumentParser, sentence: object) -> NoReturn:
    """End the program with status 2 and one sentence on stderr."""
    options.exit(2, f"{sentence}\n")


def in_notebook(*options: str) -> list[str] | None:
    """The options of ``main`` in a notebook, which has no command line; None in a program: those of its own."""
    return [*options] if "ipykernel" in sys.modules else None


def figure(width: float, height: float) -> Figure:
    """An empty picture, in inches, that needs no screen."""
    picture = Figure(figsize=(width, height), layout="constrained")
    FigureCanvasAgg(picture)
    return picture


def tidy(ax: Axes, title: str, xlabel: str, ylabel: str) -> Axes:
    """A title, labels, a faint grid and no box."""
    ax.set_title(title, fontsize=11, loc="left")
    ax.set_xlabel(xlabel)
    ax.set_ylabel(ylabel)
    ax.grid(alpha=0.3, linewidth=0.6)
    ax.set_axisbelow(True)
    ax.spines[["top", "right"]].set_visible(False)
    return ax


def save(picture: Figure, folder: Path, name: str) -> None:
    """Write the picture and say where; a notebook shows it, too."""
    picture.savefig(folder / name, dpi=130)
    print(f"\nWritten to {folder / name}")
    if (
        not hasattr(picture, "number") and "IPython" in sys.modules and "ipykernel" in sys.modules
    ):  # pyplot shows its own
        from IPython.display import Image, display

        display(Image(folder / name))
