"""One folder for each table or figure: which runs (runs.py), what is read from them (measure.py), how it is shown."""
