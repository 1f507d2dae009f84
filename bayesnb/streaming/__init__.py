"""Statistics of data larger than memory: files, Arrow tables and iterators, block by block."""

from bayesnb.streaming.blocks import StreamError as StreamError
from bayesnb.streaming.counting import stream as stream
