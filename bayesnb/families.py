"""The likelihoods with their conjugate priors, and what a family of your own needs: ``bayesnb.core.families``."""

from bayesnb.core.families import *  # noqa: F403
