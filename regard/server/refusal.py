"""The one exception for a request that is not answered: a status, one line for the client, when to come again.

Each dialect puts the line into its own form.
"""

from __future__ import annotations

from starlette.exceptions import HTTPException

REFUSED = {
    400: "a wrong request",
    401: "no API key",
    403: "a wrong API key, or switched off",
    404: "nothing is called so",
    408: "the request came too slowly",
    409: "the weights on disk cannot be read",
    413: "too long",
    429: "too often; Retry-After says when to come again",
    503: "busy; Retry-After says when to come again",
    504: "no answer in time",
}
LATER = 5  # seconds after which a client may come again


class Refusal(HTTPException):
    """Refused: 4xx for what the client can change, 5xx for what it can only wait for."""

    def __init__(self, status: int, message: str, retry_seconds: int | None = None) -> None:
        headers = None if retry_seconds is None else {"Retry-After": str(retry_seconds)}
        super().__init__(status, message, headers)

    @property
    def message(self) -> str:
        return str(self.detail)


def bad(message: str) -> Refusal:
    return Refusal(400, message)


def busy(message: str) -> Refusal:
    return Refusal(503, message, LATER)
