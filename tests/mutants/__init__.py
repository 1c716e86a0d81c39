"""How many small faults the tests notice: ``python tests/mutants/run.py``."""
