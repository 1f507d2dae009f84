"""Every `fit_*`: closed forms, EM, NUTS, learned priors, averages over features, bootstrap.

It knows nothing of files, screens or scikit-learn.
"""
