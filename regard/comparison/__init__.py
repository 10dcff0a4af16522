"""The ladder: several architectures on the same data with the same budget and several seeds, and one report."""

from regard.comparison.contest import Contest, Entry, hold
from regard.comparison.measure import Measured, measure
from regard.comparison.report import write_report

__all__ = ["Contest", "Entry", "Measured", "hold", "measure", "write_report"]
