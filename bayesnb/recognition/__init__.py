"""A user's NumPyro program as a `NaiveBayes`, with a certificate that both have one density.

It runs the program on example rows and compares numbers; it never reads its source.

    program       run it with given labels, rows and latents
    rows          which arguments hold rows; what it observes in others
    points        at random latents: their densities, and the parameters of every cell
    classes       the label set to each class: the parameters [K, D] of each site
    reading       how the likelihood and prior of each family look in a program
    blocks        each observed site as a block of a family
    matching      which element of which latent is which parameter, through which link
    priors        hyperparameters by regression of log densities; or a prior of its own
    from_numpyro  all of it, one after the other, and the model composed
    certificate   the model's density beside the program's, site by site
"""
