"""The page at `/`: look inside the served models. Its components are those of `plotting/viewer/`."""

from regard.server.page.router import page_router

__all__ = ["page_router"]
