"""A comparison as a page, as tables, as text on the console, and as files.

It shows what was measured, and measures nothing.
"""
