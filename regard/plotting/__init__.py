"""Charts as plain SVG, and pages that hold them: self-contained, offline, for light and dark screens."""

from regard.plotting.bars import Bar, bars
from regard.plotting.chart import COLOURS, Axis, Line, Panel, Points, picture
from regard.plotting.page import page, table

__all__ = ["COLOURS", "Axis", "Bar", "Line", "Panel", "Points", "bars", "page", "picture", "table"]
