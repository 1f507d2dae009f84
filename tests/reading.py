"""All rows of a file at once, as the command line reads them."""

import pandas as pd

from bayesnb.tables.files._summarise_table import Asked, summarise_source
from bayesnb.tables.files.sources._paths import as_pandas, open_data


def frame_of(data):
    """Its numbers and text, indexed by the line of each row, or its number."""
    source = open_data(str(data))
    summaries, *_ = summarise_source(source, Asked(source.names[:-1], source.names[-1], None, "auto"))
    texts = {name for name, summary in summaries.items() if summary.text}
    return pd.concat([as_pandas(batch) for batch in source.batches(source.names, texts)])
