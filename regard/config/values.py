"""Numbers and texts that fields of settings may be."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

Range = Annotated[str, Field(pattern=r"^\d+-\d+$")]
Positive = Annotated[int, Field(gt=0)]
Natural = Annotated[int, Field(ge=0)]
Place = Annotated[int, Field(ge=0, strict=True)]  # of a token, from 0
LanguageCode = Annotated[str, Field(pattern=r"^[A-Za-z]{2,8}(-[A-Za-z0-9]{1,8})*$")]  # BCP 47
Share = Annotated[float, Field(ge=0, lt=1)]
