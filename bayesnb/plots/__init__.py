"""Plots: each function draws on the given axes and returns them; matplotlib is imported at the first call.

All plots are readable in greyscale and by colour-blind people: the colours are those of Okabe and Ito, and markers,
lines or hatches repeat the information. Every number shown is also available from the library; each method of a
comparison has its line in ``STYLES`` and its bars in ``HATCHES``, and ``DODGE`` moves methods apart.

Example:
    >>> from matplotlib.figure import Figure
    >>> import bayesnb as nb
    >>> ax = Figure().subplots()
    >>> (line,) = ax.plot([20 * nb.plots.DODGE, 100 * nb.plots.DODGE], [0.7, 0.4], **nb.plots.STYLES["full Bayes"])
    >>> (bar,) = ax.bar([1], [0.7], hatch=nb.plots.HATCHES["full Bayes"])
    >>> line.get_color(), line.get_marker()
    ('#0072B2', 'o')
"""

from bayesnb.plots.curves import confidence_shares as confidence_shares
from bayesnb.plots.curves import cost_curve as cost_curve
from bayesnb.plots.curves import learning_curve as learning_curve
from bayesnb.plots.curves import prequential_gain as prequential_gain
from bayesnb.plots.curves import reliability as reliability
from bayesnb.plots.features import contribution_bars as contribution_bars
from bayesnb.plots.features import dependence as dependence
from bayesnb.plots.features import inclusion_bars as inclusion_bars
from bayesnb.plots.nomograms import nomogram as nomogram
from bayesnb.plots.parameters import class_densities as class_densities
from bayesnb.plots.parameters import forest as forest
from bayesnb.plots.regions import decision_regions as decision_regions
from bayesnb.plots.style import DODGE as DODGE
from bayesnb.plots.style import HATCHES as HATCHES
from bayesnb.plots.style import STYLES as STYLES
