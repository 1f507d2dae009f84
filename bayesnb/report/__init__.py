"""Present the results of `comparison` on the console, as an HTML page, as tables and as files."""
