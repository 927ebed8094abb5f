"""Sentences for people: English, with what another language needs. They are plain texts to everybody else."""

from collections.abc import Mapping
from typing import Any, Self


class Sentence(str):
    """A filled text that keeps its template and its values. Of one that depends on a number, the value is `count`."""

    template: str
    plural: str  # the template for other numbers than one; empty without a number
    values: Mapping[str, Any]

    def __new__(cls, template: str, plural: str, values: Mapping[str, Any]) -> Self:
        text = plural if plural and values["count"] != 1 else template
        self = super().__new__(cls, text.format(**values) if values else text)
        self.template, self.plural, self.values = template, plural, values
        return self

    def __str__(self) -> str:
        """Return the sentence itself, so that the text of an error is still one."""
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        """Keep both when it is copied, as by `dataclasses.asdict`."""
        return Sentence, (self.template, self.plural, self.values)


def sentence(template: str, /, **values: object) -> Sentence:
    """Return a sentence, with named values: `sentence("{name} is empty.", name=name)`."""
    return Sentence(template, "", values)


def plural_sentence(one: str, other: str, /, *, count: float, **values: object) -> Sentence:
    """Return a sentence that depends on a number."""
    return Sentence(one, other, {"count": count, **values})
