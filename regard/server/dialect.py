"""What the routers of all dialects share: errors in the dialect's own form, and bodies of every kind as fields."""

from __future__ import annotations

import json
from collections.abc import Callable, Coroutine
from typing import Any

from fastapi import Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from fastapi.routing import APIRoute
from starlette.datastructures import UploadFile
from starlette.exceptions import HTTPException

from regard.errors import UserError
from regard.server.refusal import Refusal, bad

Fields = dict[str, Any]
FORMS = ("application/x-www-form-urlencoded", "multipart/form-data")
DAMAGED = "The browser (or proxy) sent a request that this server could not understand."


def errors_as(form: Callable[[int, str], Any]) -> type[APIRoute]:
    """A class of routes that answer a refusal with form(status, message)."""

    class DialectRoute(APIRoute):
        def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
            handler = super().get_route_handler()

            async def answer(request: Request) -> Response:
                try:
                    return await handler(request)
                except UserError as error:
                    return JSONResponse(form(400, str(error)), 400)
                except RequestValidationError as error:
                    return JSONResponse(form(400, first_error(error)), 400)
                except HTTPException as error:
                    return JSONResponse(form(error.status_code, str(error.detail)), error.status_code, error.headers)

            return answer

    return DialectRoute


def first_error(error: RequestValidationError) -> str:
    """One line for what is wrong first: where, and what; never the value, which may be long."""
    problem = error.errors()[0]
    where = ".".join(str(part) for part in problem["loc"] if part not in ("body", "query", "path"))[:100]
    message = problem["msg"].removeprefix("Value error, ")
    return f"{_printable(where) or 'body'}: {_printable(message)}"


def _printable(text: str) -> str:
    return text.encode("utf-8", "replace").decode()


async def read_fields(request: Request) -> Fields:
    """JSON, either kind of form, or the query: later ones of these only where the body is empty."""
    query: Fields = dict(request.query_params)
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind in FORMS:
        try:
            form = await request.form(max_files=1, max_fields=1000)
        except Refusal:
            raise
        except Exception:  # each parser has errors of its own
            raise bad(DAMAGED) from None
        fields: Fields = {}
        for name, value in form.multi_items():
            plain = value if isinstance(value, UploadFile) else value.replace("\r\n", "\n")
            fields[name] = [*_listed(fields[name]), plain] if name in fields else plain
        return query | fields
    body = await request.body()
    if not body.strip():
        return query
    if kind != "application/json" and query.get("q") is not None:
        return query
    try:
        parsed = json.loads(body)
    except (ValueError, RecursionError):
        raise bad(DAMAGED) from None
    if not isinstance(parsed, dict):
        raise bad("Invalid JSON format")
    return query | parsed


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def texts_of(value: object, name: str, empty: bool = False) -> list[str]:
    """A text or a list of texts. `empty`: an empty text is one, too."""
    texts = value if isinstance(value, list) else [value]
    if (not value and not (empty and value == "")) or not all(isinstance(text, str) for text in texts):
        if value is None or value in ("", []):
            raise bad(f"Invalid request: missing {name} parameter")
        raise bad(f"{name} must be a text or a list of texts")
    return texts


def text_of(fields: Fields, name: str) -> str:
    value = fields.get(name)
    if value is None or value == "":
        raise bad(f"Invalid request: missing {name} parameter")
    if not isinstance(value, str):
        raise bad(f"{name} must be a text")
    return value


def body_of(schema: dict[str, Any], *kinds: str, required: bool = True) -> dict[str, Any]:
    """What OpenAPI says of a body that `read_fields` reads."""
    return {"requestBody": {"required": required, "content": {kind: {"schema": schema} for kind in kinds}}}
