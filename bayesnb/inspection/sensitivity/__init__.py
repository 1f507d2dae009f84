"""What a prior does to a fit: sets of priors, decisions that they agree on, and how much of a prior changes one.

All of it is computed from the counts and hyperparameters of an exact posterior, without a further fit.
"""
