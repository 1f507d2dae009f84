"""A plot of the features that depend on each other given the class."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from bayesnb.inspection.dependence import STRONG, Dependence
from bayesnb.plots.style import escape_dollars

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def dependence(ax: Axes, pairs: Dependence, strong: float = STRONG) -> Axes:
    """Draw the mutual information of each pair of columns given the class, below the diagonal of a matrix.

    Darker cells have more nats; a dot marks pairs whose log Bayes factor for dependence is above ``strong``. Shades
    are proportional to the square root of the nats, since pairs differ by orders of magnitude.

    Args:
        ax: The axes to draw on.
        pairs: The result of `bayesnb.dependence` for D columns.
        strong: The log Bayes factor above which a pair gets a dot; the default is 150 to 1.
    """
    from matplotlib.collections import EllipseCollection
    from matplotlib.colors import PowerNorm

    size = len(pairs.names)
    below = np.tri(size, k=-1, dtype=bool)
    nats = np.ma.masked_array(pairs.mutual_information, ~below)
    norm = PowerNorm(0.5, 0.0, max(float(nats.max()), 1e-3))
    edges = np.where(below, "0.85", "none").ravel()
    shades = ax.pcolormesh(nats, cmap="Greys", norm=norm, edgecolors=edges, linewidth=0.4)
    rows, columns = (below & (pairs.log_bayes_factor > strong)).nonzero()
    colours = np.where(norm(pairs.mutual_information[rows, columns]) > 0.5, "white", "black")
    middles, width = np.stack([columns, rows], axis=1) + 0.5, min(0.3, 0.03 * size)
    ax.add_collection(
        EllipseCollection(width, width, 0, units="x", offsets=middles, offset_transform=ax.transData, color=colours)
    )
    ax.set(xlim=(0, size - 1), ylim=(size, 1), aspect="equal")
    names = [escape_dollars(name) for name in pairs.names]
    fontsize = float(np.clip(240 / size, 6, 9))
    ax.set_xticks(np.arange(size - 1) + 0.5, names[:-1], rotation=90, fontsize=fontsize)
    ax.set_yticks(np.arange(1, size) + 0.5, names[1:], fontsize=fontsize)
    ax.tick_params(length=0)
    ax.spines[:].set_visible(False)
    ax.set_title(f"dot: log Bayes factor above {strong:g}", fontsize=9)
    ax.figure.colorbar(shades, ax=ax, label="nats", shrink=0.6)
    return ax
