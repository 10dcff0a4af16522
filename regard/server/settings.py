"""Every limit of a server, with its default. `regard serve` has a flag for each."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from regard.config.section import Section
from regard.config.values import Natural, Positive

Seconds = Annotated[float, Field(gt=0)]


class ServerSettings(Section):
    """What one client may ask for, and how long it waits."""

    characters: Positive = 10_000
    """most characters of one text"""
    tokens: Positive = 1000
    """most tokens of one line of a text, and most that `max_tokens` may ask for"""
    trace_tokens: Positive = 100
    """most tokens of a text whose attention or beams are looked at; its output may have twice as many"""
    texts: Positive = 128
    """most texts of one request"""
    n_best: Positive = 20
    """most outputs of one text, and most beams"""
    body_bytes: Positive = 4_000_000
    """most bytes of a request"""
    body_seconds: Seconds = 20.0
    """longest time in which a request must have arrived"""
    answer_seconds: Seconds = 60.0
    """longest time until the answer; then 504"""
    picture_pixels: Positive = 25_000_000
    """most pixels of a picture"""
    queue_texts: Positive = 1024
    """texts in work or waiting; more wait outside"""
    queue_seconds: Seconds = 15.0
    """how long a request waits for a place in a full queue; then 503"""
    batch_tokens: Positive = 4096
    """source tokens that are decoded together"""
    wait_milliseconds: Natural = 3
    """how long a batch waits for as many texts as the last one had"""
    rate: Natural = 0
    """requests a minute for each API key, or for each address where there are no keys; then 429 (0: no limit)"""
    stop_seconds: Positive = 30
    """after SIGTERM: how long requests that were accepted may go on"""
