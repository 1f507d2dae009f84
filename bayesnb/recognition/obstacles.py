"""All that stands in the way: what is refused is left out, and the rest is looked at again."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from bayesnb.model.naive_bayes import NaiveBayes
from bayesnb.recognition.refusals import NotNaiveBayes
from bayesnb.recognition.running import Program


def recognise_beside_obstacles(
    recognise: Callable[[Program, dict[str, str]], NaiveBayes], program: Program
) -> NaiveBayes:
    """The model; NotNaiveBayes with every obstacle. ``recognise`` also fills a dict of what is recognised, by site."""
    obstacles: list[str] = []
    recognised: dict[str, str] = {}
    seen = {program.label, ""}
    while True:
        try:
            return recognise(program, recognised)
        except NotNaiveBayes as error:
            last = error.site in seen
            if not (obstacles and last):
                obstacles.append(str(error))
            if last:
                raise NotNaiveBayes(*obstacles, recognised=recognised) from error.__cause__
            seen.add(error.site)
            program = replace(program, ignored=program.ignored | {error.site})
