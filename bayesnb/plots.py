"""Plots: each function draws on the given axes and returns them; matplotlib is imported at the first call.

All plots are readable in greyscale and by colour-blind people: the colours are those of Okabe and Ito, and markers,
lines or hatches repeat the information. Every number shown is also available from the library; each method of a
comparison has its line in ``STYLES`` and its bars in ``HATCHES``.

Example:
    >>> from matplotlib.figure import Figure
    >>> import bayesnb as nb
    >>> ax = Figure().subplots()
    >>> (line,) = ax.plot([20, 100], [0.7, 0.4], **nb.plots.STYLES["full Bayes"])
    >>> (bar,) = ax.bar([1], [0.7], hatch=nb.plots.HATCHES["full Bayes"])
    >>> line.get_color(), line.get_marker()
    ('#0072B2', 'o')
"""

from importlib.util import find_spec as _find_spec

from bayesnb.compute.arrays._extras import needed_by as _needed_by

with _needed_by("bayesnb.plots", "studies"):
    if _find_spec("matplotlib") is None:
        raise ModuleNotFoundError("No module named 'matplotlib'", name="matplotlib")
    from bayesnb.studies.comparison._metrics import reliability_bins as reliability_bins
    from bayesnb.studies.plots._curves import confidence_shares as confidence_shares
    from bayesnb.studies.plots._curves import cost_curve as cost_curve
    from bayesnb.studies.plots._curves import learning_curve as learning_curve
    from bayesnb.studies.plots._curves import prequential_gain as prequential_gain
    from bayesnb.studies.plots._curves import reliability as reliability
    from bayesnb.studies.plots._curves import robustness_curve as robustness_curve
    from bayesnb.studies.plots._features import contribution_bars as contribution_bars
    from bayesnb.studies.plots._features import dependence as dependence
    from bayesnb.studies.plots._features import inclusion_bars as inclusion_bars
    from bayesnb.studies.plots._nomograms import nomogram as nomogram
    from bayesnb.studies.plots._parameters import class_densities as class_densities
    from bayesnb.studies.plots._parameters import forest as forest
    from bayesnb.studies.plots._regions import decision_regions as decision_regions
    from bayesnb.studies.plots._style import HATCHES as HATCHES
    from bayesnb.studies.plots._style import STYLES as STYLES
