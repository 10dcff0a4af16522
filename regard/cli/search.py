"""The search settings as flags of the verbs that use a run."""

from __future__ import annotations

from typing import Annotated

from cyclopts import Parameter

from regard.config import SearchSettings

# what a flag leaves open comes from the run's recipe, so --help must not print the defaults of a new run
SearchFlags = Annotated[SearchSettings, Parameter(name="*", show_default=lambda value: "the run's")]
