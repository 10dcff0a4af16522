"""A server of trained runs: other programs' APIs, an API of its own, and a page to look inside (the extra [serve]).

import regard.server
application = regard.server.app(["runs/dates"])  # ASGI
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from regard.errors import UserError

if TYPE_CHECKING:
    from regard.server.application import ServerApp, app
    from regard.server.served import RunToServe
    from regard.server.settings import ServerSettings

__all__ = ["RunToServe", "ServerApp", "ServerSettings", "app"]

_MODULES = {"RunToServe": "served", "ServerSettings": "settings"}


def __getattr__(name: str) -> Any:
    """Loaded on first use, so that the settings can be read without a web framework."""
    from importlib import import_module

    if name not in __all__:
        raise AttributeError(f"module 'regard.server' has no attribute {name!r}")
    try:
        return getattr(import_module(f"regard.server.{_MODULES.get(name, 'application')}"), name)
    except ModuleNotFoundError as error:
        if error.name and error.name.split(".")[0] in ("fastapi", "starlette", "prometheus_client", "uvicorn"):
            raise UserError("the server needs FastAPI: pip install 'regard[serve]'") from None
        raise
