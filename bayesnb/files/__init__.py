"""What lies on disk: saved results, streamed rows, tables.

What a file holds is checked as it is read, and a file is written as a whole or not at all.
"""
