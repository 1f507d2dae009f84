from __future__ import annotations

import pytest

from tests import cases, laws

# compiling takes seconds a family: the samplers of two with predictives of their own kind, the device for all at once
QUICK = {laws.prediction_averages_joints: {"normal", "multinomial"}, laws.device_is_host: {"mixed"}}


def pairs():
    for law in laws.LAWS:
        for name in cases.NAMES:
            slow = name not in QUICK.get(law, cases.NAMES)
            yield pytest.param(law, name, marks=pytest.mark.slow if slow else [], id=f"{law.__name__}-{name}")


@pytest.mark.parametrize(("law", "name"), list(pairs()))
def test_law(law, name):
    law(cases.make(name))
