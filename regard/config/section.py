"""A section of settings: a frozen record, whose fields may say how they are chosen where they are left open."""

from __future__ import annotations

from typing import Any, TypeVar
from unicodedata import category

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

Open = TypeVar("Open")  # the type of a field that is left open: None in Settings, Never in a Plan
SectionType = TypeVar("SectionType", bound="Section")


class Section(BaseModel):
    """A frozen record that refuses keys it does not know."""

    @field_validator("*", mode="after")
    @classmethod
    def _refuse_what_no_path_holds(cls, value: Any) -> Any:
        if isinstance(value, str) and ("\0" in value or any(category(letter) == "Cs" for letter in value)):
            raise ValueError("a text without NUL and halves of surrogate pairs is needed")
        return value

    model_config = ConfigDict(
        frozen=True, extra="forbid", allow_inf_nan=False, use_attribute_docstrings=True, validate_default=True
    )

    def given(self) -> dict[str, Any]:
        """The fields that were given a value."""
        return self.model_dump(exclude_unset=True, exclude_none=True)


class Closed(Section):
    """A section in which nothing is open: a field without a value has its plain one, or is refused."""

    @model_validator(mode="before")
    @classmethod
    def _take_plain_values(cls, values: Any) -> Any:
        plain = {key: value for key in cls.model_fields if (value := _choice(cls, key).get("plain")) is not None}
        return {**plain, **values} if isinstance(values, dict) else values


def chosen(how: str, plain: Any = None) -> Any:
    """A field that may be left open, and how it is chosen then. `plain`: its value where there is no corpus."""
    return Field(default=None, json_schema_extra={"how": how, "plain": plain})


def default(value: Any) -> Any:
    """A field that is this where it is left open."""
    return chosen(_text(value), value)


def by_preset(value: Any) -> Any:
    """A field that is the preset's where it is left open, and this without a preset."""
    return chosen(f"the preset's, else {_text(value)}", value)


def how_chosen(section: type[Section], key: str) -> str | None:
    """How a field is chosen where it is left open; None where it cannot be."""
    return _choice(section, key).get("how")


def has_plain_value(section: type[Section], key: str) -> bool:
    """Whether a plan without this field means something: what every run did before the field was there."""
    return _choice(section, key).get("plain") is not None


def with_choices(section: type[SectionType]) -> type[SectionType]:
    """Adds to the help of every field that may be left open how it is chosen."""
    for key, field in section.model_fields.items():
        how = how_chosen(section, key)
        if how is not None:
            field.description = f"{field.description} (default: {how})"
    return section


def _choice(section: type[Section], key: str) -> dict[str, Any]:
    extra = section.model_fields[key].json_schema_extra
    return extra if isinstance(extra, dict) else {}


def _text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
