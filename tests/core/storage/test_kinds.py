"""What files hold is registered by name, and what is registered elsewhere is found."""

from importlib import import_module

import pytest

import bayesnb as nb
from bayesnb.core.storage._kinds import HOMES, STORED, find_kind, kind_of, rebuild


def test_wings_above_register_what_their_home_promises():
    pytest.importorskip("pandas")
    for name, home in HOMES.items():
        import_module(home)
        assert name in ("NaiveBayesClassifier", "Held") or STORED[name].name == name
    promised = {kind.name for kind in STORED.values() if not kind.type.__module__.startswith("bayesnb.core")}
    assert promised - {*HOMES} == set()


def test_what_is_no_result_has_no_check():
    assert find_kind("os.system") is None
    assert kind_of(object()) is None
    for value in (object(), nb.NormalScores()):
        with pytest.raises(ValueError, match="is not a result"):
            rebuild(value)
