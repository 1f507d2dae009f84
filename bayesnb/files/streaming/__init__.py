"""Sufficient statistics of data larger than memory, from files, Arrow tables and iterators, block by block."""

from bayesnb.files.streaming.blocks import StreamError as StreamError
from bayesnb.files.streaming.counting import stream as stream
