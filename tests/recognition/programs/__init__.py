"""Programs by theme; importing this package declares every case."""

from tests.recognition.case import CASES as CASES
from tests.recognition.programs import bernoulli as bernoulli
from tests.recognition.programs import categorical as categorical
from tests.recognition.programs import counts as counts
from tests.recognition.programs import known_variance as known_variance
from tests.recognition.programs import labels as labels
from tests.recognition.programs import mapped as mapped
from tests.recognition.programs import multivariate as multivariate
from tests.recognition.programs import normal as normal
from tests.recognition.programs import not_accepted as not_accepted
from tests.recognition.programs import not_naive as not_naive
from tests.recognition.programs import one_rate as one_rate
from tests.recognition.programs import own_priors as own_priors
from tests.recognition.programs import recipes as recipes
from tests.recognition.programs import scaled as scaled
from tests.recognition.programs import several as several
from tests.recognition.programs import tied as tied
