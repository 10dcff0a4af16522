"""Charts, heat maps, trees and overlays on one SVG sheet; saved as .svg, .png or a page that works offline."""

from regard.plotting.axes import Axis
from regard.plotting.bar_chart import Bar, bar_chart
from regard.plotting.flow import flow
from regard.plotting.heat_map import HeatMap, heat_map, heat_maps
from regard.plotting.line_chart import Line, Panel, Points, line_chart
from regard.plotting.pages import page, table
from regard.plotting.save import check_ending, save_page, save_picture
from regard.plotting.sheet import COLOURS

__all__ = [
    "COLOURS",
    "Axis",
    "Bar",
    "HeatMap",
    "Line",
    "Panel",
    "Points",
    "bar_chart",
    "check_ending",
    "flow",
    "heat_map",
    "heat_maps",
    "line_chart",
    "page",
    "save_page",
    "save_picture",
    "table",
]
