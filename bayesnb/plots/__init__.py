"""Pictures: each function draws on the axes that it is given and returns them; matplotlib loads with the first.

All can be read in grey and by the colour-blind: the colours are those of Okabe and Ito, and markers, lines or hatches
say the same again. They compute nothing that a number in the library does not say.
"""

from bayesnb.plots.bars import contribution_bars as contribution_bars
from bayesnb.plots.bars import inclusion_bars as inclusion_bars
from bayesnb.plots.calibration import confidence_shares as confidence_shares
from bayesnb.plots.calibration import reliability as reliability
from bayesnb.plots.densities import class_densities as class_densities
from bayesnb.plots.learning import learning_curve as learning_curve
from bayesnb.plots.methods import DODGE as DODGE
from bayesnb.plots.methods import HATCHES as HATCHES
from bayesnb.plots.methods import STYLES as STYLES
from bayesnb.plots.nomograms import nomogram as nomogram
from bayesnb.plots.pairs import dependence as dependence
from bayesnb.plots.parameters import forest as forest
from bayesnb.plots.regions import decision_regions as decision_regions
