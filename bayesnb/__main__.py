"""``python -m bayesnb``: the command line."""

from bayesnb.cli import main

main()
