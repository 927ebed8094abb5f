"""The types of the fields of the export format: a value that does not fit is refused."""

from datetime import UTC, datetime
from typing import Annotated

from pydantic import AfterValidator, AwareDatetime, ConfigDict, Field, StringConstraints

from ..values.limits import MAX_DESCRIPTION_CHARS, MAX_NAME_CHARS, MAX_NUMBER
from ..values.names import clean_name
from ..values.sentence import sentence
from ..values.tag import clean_tag

Id = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9_-]{1,64}$")]


def _refuse_nul(text: str) -> str:
    if "\0" in text:
        raise ValueError(sentence("holds a NUL character"))  # PostgreSQL cannot store it
    return text


Agent = Annotated[
    str, StringConstraints(max_length=MAX_NAME_CHARS), AfterValidator(_refuse_nul)
]  # not cleaned: the hash covers it
Name = Annotated[Agent, AfterValidator(clean_name)]
TagName = Annotated[Agent, AfterValidator(clean_tag)]
Description = Annotated[str, StringConstraints(max_length=MAX_DESCRIPTION_CHARS), AfterValidator(_refuse_nul)]


def _to_storable_time(time: datetime) -> datetime:
    """Convert to UTC. A time outside the years of UTC is refused: it could be written, but not read again."""
    try:
        return time.astimezone(UTC)
    except OverflowError as error:
        raise ValueError(sentence("is not a time that can be kept")) from error


Time = Annotated[AwareDatetime, AfterValidator(_to_storable_time)]


# JSON mode converts ISO texts to times and lists to tuples, and nothing else.
STRICT = ConfigDict(extra="forbid", frozen=True, strict=True, allow_inf_nan=False)

Version = Annotated[int, Field(ge=0, le=MAX_NUMBER)]
