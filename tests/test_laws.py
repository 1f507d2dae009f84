import pytest

from tests import cases, laws

# compiling takes seconds a family, and most of a minute where all are in one model
# NumPyro's density of the others is compiled by Bayes' theorem alone: the other laws meet it in a family like them
DENSE = {*cases.NAMES[:-1]} - {*cases.TWINS, "discriminant", "histogram"}
ALL = [*cases.NAMES[:-1], *cases.MAPPED, *cases.ONE_RATE]
QUICK = {
    laws.prediction_averages_joints: {"normal", "multinomial"},
    laws.device_is_host: {"normal"},
    laws.likelihood_is_numpyros: DENSE,
    laws.statistics_hold_the_likelihood: DENSE,
    laws.mode_is_stationary: DENSE,
    laws.terms_sum_to_the_predictive: DENSE,
}

FEW_FITS = {laws.heavy_map_is_mle, laws.parts_make_the_whole, laws.one_hot_labels_are_labels}
"""Of the quadrature's family, whose integrals take a second for few rows, and tens where they are compiled."""


def pairs():
    # the laws of a family share what is compiled for it
    for name in (*cases.NAMES, "likelihood", *cases.MAPPED, *cases.ONE_RATE):
        for law in laws.LAWS:
            if law is laws.prediction_averages_joints and name == "mixed":
                continue  # of the joint densities of ten blocks a single draw makes up half of the mean
            quick = law in FEW_FITS if name == "likelihood" else name in QUICK.get(law, ALL)
            # the strict tests of promotion compare host and device for each family
            mark = pytest.mark.fuzz if law is laws.device_is_host and name != "mixed" else pytest.mark.slow
            yield pytest.param(law, name, marks=[] if quick else mark, id=f"{law.__name__}-{name}")


@pytest.mark.parametrize(("law", "name"), list(pairs()))
def test_law(law, name):
    law(cases.make(name))
