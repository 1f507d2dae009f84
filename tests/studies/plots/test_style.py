"""Classes are told apart without colour."""

from bayesnb.studies.plots import _style as style


def test_classes_are_told_apart_without_colour():
    styles = [style.class_line(k) for k in range(10)]
    assert len({style["marker"] for style in styles}) == 10
    assert len({style.class_hatch(k) for k in range(10)}) == 10
    assert style.shorten("a" * 40) == "a" * 23 + "…" + "a" * 8
    assert style.shorten("$x$") == r"\$x\$"


def test_methods_without_a_style_have_colours_of_their_own():
    lines = style.method_lines(["MLE", "full Bayes", "mine", "yours"])
    assert len({line["color"] for line in lines.values()}) == 4
    assert lines["MLE"] == style.STYLES["MLE"]


def test_no_two_methods_look_alike_however_many_have_no_style():
    lines = style.method_lines([*style.STYLES, *(f"mine {number}" for number in range(12))])
    seen = {(line["color"], str(line["linestyle"]), line["marker"]) for line in lines.values()}
    assert len(seen) == len(lines) == len(style.STYLES) + 12
