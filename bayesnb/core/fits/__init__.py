"""Every `fit_*`: closed forms, EM, NUTS, learned priors, averages over features.

It knows nothing of files, screens or scikit-learn.
"""
