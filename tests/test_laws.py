from __future__ import annotations

import pytest

from tests import cases, laws

# compiling NumPyro's samplers takes seconds a family; these two have predictives of their own kind
QUICK = {"normal", "multinomial"}


def pairs():
    for law in laws.LAWS:
        for name in cases.NAMES:
            slow = law is laws.prediction_averages_joints and name not in QUICK
            yield pytest.param(law, name, marks=pytest.mark.slow if slow else [], id=f"{law.__name__}-{name}")


@pytest.mark.parametrize(("law", "name"), list(pairs()))
def test_law(law, name):
    law(cases.make(name))
