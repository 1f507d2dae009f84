"""Reading and writing files: saved results, streamed rows, tables.

The content of a file is checked while it is read, and files are written atomically.
"""
