"""Reading and writing files: saved results, streamed rows, tables. Content is checked; writing is atomic."""
