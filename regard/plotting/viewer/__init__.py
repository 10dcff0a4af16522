"""The viewer: ES modules, a style sheet and SVG components that draw the records of `analysis/view.py`.

`viewer_page` puts them and a record into one HTML file that works offline; a server sends the same files one by one.
"""

from regard.plotting.viewer.assembly import MODULES, STYLE, asset, in_frame, script, viewer_page

__all__ = ["MODULES", "STYLE", "asset", "in_frame", "script", "viewer_page"]
