"""How many problems are tried, and which."""

import os
import random

from hypothesis import HealthCheck, settings

SHORT = settings(database=None, deadline=None, suppress_health_check=list(HealthCheck))
LONG = settings(
    derandomize=False, database=None, deadline=None, print_blob=True, suppress_health_check=list(HealthCheck)
)
NUMBER = int(os.environ.get("BAYESNB_FUZZ", "20000"))
PROMOTIONS = ("standard", "standard", "strict")
"""How JAX lets dtypes meet, as users set it."""
PART = 500
"""Examples of one part, which have few sizes of models in common."""

# the processes of one run agree on the seed by pytest-xdist's name for the run
RUN = os.environ.get("PYTEST_XDIST_TESTRUNUID")
SEED = int(os.environ.get("BAYESNB_FUZZ_SEED", str(random.Random(RUN).randrange(10**6))))
