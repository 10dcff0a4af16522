"""The page at `/` and its files: its own modules and the viewer's, all from here and nothing in the HTML itself.

The Content-Security-Policy allows scripts, styles and requests of this origin only; images also as data: addresses, as
which records hold them, and as blob: addresses, from which a PNG is drawn.
"""

from __future__ import annotations

from hashlib import sha256
from importlib import resources

from fastapi import APIRouter, Request, Response

from regard.plotting.viewer import MODULES, STYLE, asset, viewer_page

OWN = ("api.js", "link.js", "panel.js", "app.js", "app.css")
EMPTY_VIEWER = "viewer.html"  # the page fills it with a record and saves it
TYPES = {"js": "text/javascript", "css": "text/css", "html": "text/html"}
HEADERS = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-cache",
}


def page_router() -> APIRouter:
    """GET / and GET /page/FILE. Both need no API key: they hold nothing of the models."""
    router = APIRouter(include_in_schema=False)
    files = {name: asset(name) for name in (*MODULES, STYLE)} | {name: _own(name) for name in OWN}
    files[EMPTY_VIEWER] = viewer_page("a view", {})
    index = _own("index.html")

    @router.get("/")
    async def page(request: Request) -> Response:
        return _file(request, "index.html", index)

    @router.get("/page/{name}")
    async def page_file(request: Request, name: str) -> Response:
        if name not in files:
            return Response("the page has no such file", 404, media_type="text/plain")
        return _file(request, name, files[name])

    return router


def _own(name: str) -> str:
    return (resources.files("regard.server.page") / name).read_text(encoding="utf-8")


def _file(request: Request, name: str, text: str) -> Response:
    """The file, or 304 where the browser has it as it is."""
    content = text.encode()
    headers = {**HEADERS, "ETag": f'"{sha256(content).hexdigest()[:32]}"'}
    if request.headers.get("if-none-match") == headers["ETag"]:
        return Response(status_code=304, headers=headers)
    return Response(content, headers=headers, media_type=f"{TYPES[name.rpartition('.')[2]]}; charset=utf-8")
