"""Coroutines of tests run in a thread of their own: playwright keeps an event loop in the main one."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

Answer = TypeVar("Answer")


def run_coroutine(coroutine: Coroutine[Any, Any, Answer]) -> Answer:
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(asyncio.run, coroutine).result()
