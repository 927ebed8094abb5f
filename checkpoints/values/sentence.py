"""Sentences for people: English, with the parts that another language needs. They are plain texts to everybody else."""

import json
from collections.abc import Mapping
from typing import Any, Self

_PLAIN = (str, int, float, type(None))  # values as they are stored; others become texts, such as an error


class Sentence(str):
    """A filled text that keeps its template and its values. Of one that depends on a number, the value is `count`."""

    template: str
    plural: str  # the template for other numbers than one; empty without a number
    values: Mapping[str, Any]

    def __new__(cls, template: str, plural: str, values: Mapping[str, Any]) -> Self:
        values = {name: value if isinstance(value, _PLAIN) else str(value) for name, value in values.items()}
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


def encode_sentence(text: str) -> Any:
    """Return a text as JSON: a sentence with its template and values, any other text as it is."""
    if not isinstance(text, Sentence):
        return text
    values = {name: encode_sentence(value) if isinstance(value, str) else value for name, value in text.values.items()}
    return {"template": text.template, "plural": text.plural, "values": values}


def decode_sentence(data: Any) -> Any:
    """Return the text of `encode_sentence`, and any other value as it is."""
    match data:
        case {"template": str(template), "plural": str(plural), "values": dict(values)}:
            return Sentence(template, plural, {name: decode_sentence(value) for name, value in values.items()})
    return data


def store_sentence(text: str | None) -> str | None:
    """Return the template and the values of a sentence for a column beside its text; None for a text without them."""
    return json.dumps(encode_sentence(text)) if isinstance(text, Sentence) else None


def restore_sentence(text: str | None, stored: str | None) -> str | None:
    """Return a stored text as the sentence that it was: a plain text where the template is missing, or differs."""
    if text is None or stored is None:
        return text
    try:
        found = decode_sentence(json.loads(stored))
    except (ValueError, LookupError, TypeError, AttributeError):  # a damaged row: bad JSON, or values that do not fit
        return text
    return found if found == text else text
