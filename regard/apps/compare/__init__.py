"""Comparison of architectures: the same data, the same budget, several seeds, one report."""

from regard.apps.compare.measure import Measurement, measure
from regard.apps.compare.report import compare, write_report
from regard.apps.compare.sweep import Sweep, SweepRun, run_sweep

__all__ = ["Measurement", "Sweep", "SweepRun", "compare", "measure", "run_sweep", "write_report"]
