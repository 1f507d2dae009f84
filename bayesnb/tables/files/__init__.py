"""Reading and writing files: saved results, rows of any number, predictions. Content is checked; writing is atomic."""
