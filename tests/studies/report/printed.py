"""What the console prints of a comparison, as text."""

from types import SimpleNamespace

from rich.console import Console

from bayesnb.studies.report._console import print_data, print_results
from bayesnb.studies.report._summary import summarise, summarise_data
from tests.comparisons import data_of, findings_of


def printed(function, summary):
    console = Console(width=80, record=True, file=SimpleNamespace(write=lambda _: None, flush=lambda: None))
    function(console, summary)
    return console.export_text()


def printed_results(*findings):
    return printed(print_results, summarise(findings_of(*findings), "bayesnb compare"))


def printed_data(table):
    return printed(print_data, summarise_data(data_of(table)))


def words(text):
    return " ".join(text.split())
