"""Every `fit_*`: closed forms, EM, NUTS, learned priors, averages over features, bootstrap."""
