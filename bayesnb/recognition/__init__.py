"""A user's NumPyro program as a `NaiveBayes`, with a certificate that both have one density: ``from_numpyro``.

It runs the program on example rows and compares numbers; it never reads its source.

    program  -> points    latents at random points: values, log densities, and the parameters of each row's cells
       |          |
       |       classes    the label set to each class: parameters by class [K, D], alike in all rows of a class
       |          |
       |       blocks     each observed site as a block of a family, whose likelihood ``reading`` knows
       |          |
       |       matching   which element of which latent is which parameter, through which link
       |          |
       |       priors     hyperparameters by regression of log densities on terms; or a prior of its own
       v          v
    rows  ->  certificate  the composed model's density beside the program's, site by site, on changed rows, far out
"""
