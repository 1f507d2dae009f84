"""Styles of the methods in the plots of a comparison."""

from typing import Any

# colours of Okabe and Ito, safe for colour-blind people; marker and line separate methods in greyscale
STYLES: dict[str, dict[str, Any]] = {
    "full Bayes": {"color": "#0072B2", "marker": "o", "linestyle": "-", "markersize": 8, "markerfacecolor": "white"},
    "random forest": {"color": "#E69F00", "marker": "P", "linestyle": (0, (6, 1, 1, 1, 1, 1)), "markersize": 6},
    "logistic regression": {"color": "#56B4E9", "marker": "X", "linestyle": (0, (2, 1)), "markersize": 6},
    "tempered": {"color": "#009E73", "marker": "D", "linestyle": "-.", "markersize": 5},
    "feature weights": {"color": "#CC79A7", "marker": "v", "linestyle": (0, (8, 2)), "markersize": 6},
    "MAP": {"color": "#D55E00", "marker": "^", "linestyle": "--", "markersize": 5},
    "MLE": {"color": "#555555", "marker": "s", "linestyle": ":", "markersize": 5},
}
HATCHES = {
    "full Bayes": "", "random forest": "xxxx", "logistic regression": "||||", "tempered": "----",
    "feature weights": "\\\\\\\\", "MAP": "////", "MLE": "....",
}  # fmt: skip
DODGE = 1.025  # horizontal factor between methods, so that error bars do not overlap
