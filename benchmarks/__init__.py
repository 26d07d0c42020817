"""What `anira bench` measures, and the plain generators that the fast ones are measured against.

Part of the repository, not of the installed package. `options.py` lists the benchmarks; `benchmarks/NAME.py` has a
function `bench` that measures one, and `tables.py` lays out what it returns.
"""
