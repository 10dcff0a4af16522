"""The ladder: several architectures on the same data with the same budget and several seeds, and one report."""

from regard.apps.compare.measure import Measured, measure
from regard.apps.compare.report import write_report
from regard.apps.compare.sweep import Contest, Entry, hold

__all__ = ["Contest", "Entry", "Measured", "hold", "measure", "write_report"]
