"""Charts as plain SVG, and pages that hold them: self-contained, offline, for light and dark screens."""

from regard.drawing.bars import Bar, bars
from regard.drawing.chart import COLOURS, Axis, Line, Panel, Points, picture
from regard.drawing.page import page, table

__all__ = ["COLOURS", "Axis", "Bar", "Line", "Panel", "Points", "bars", "page", "picture", "table"]
