"""Sentences for people, in English, with the parts needed for translation. To other code they are plain texts."""

import json
from collections.abc import Mapping
from typing import Any, Self

# Types stored as they are. Others, such as an error, become texts.
_PLAIN = (str, int, float, type(None))


class Sentence(str):
    """A filled text that keeps its template and values. `plural` is the template for a `count` other than 1, else empty."""

    template: str
    plural: str
    values: Mapping[str, Any]

    def __new__(cls, template: str, plural: str, values: Mapping[str, Any]) -> Self:
        values = {name: value if isinstance(value, _PLAIN) else str(value) for name, value in values.items()}
        text = plural if plural and values["count"] != 1 else template
        self = super().__new__(cls, text.format(**values) if values else text)
        self.template, self.plural, self.values = template, plural, values
        return self

    def __str__(self) -> str:
        """Return the sentence itself, so an error's text stays a sentence."""
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        """Keep template and values in copies, as by `dataclasses.asdict`."""
        return Sentence, (self.template, self.plural, self.values)


def sentence(template: str, /, **values: object) -> Sentence:
    """Build a sentence with named values: `sentence("{name} is empty.", name=name)`."""
    return Sentence(template, "", values)


def plural_sentence(one: str, other: str, /, *, count: float, **values: object) -> Sentence:
    return Sentence(one, other, {"count": count, **values})


def encode_sentence(text: str) -> Any:
    """Return a sentence as JSON with its template and values. Any other text is returned unchanged."""
    if not isinstance(text, Sentence):
        return text
    values = {name: encode_sentence(value) if isinstance(value, str) else value for name, value in text.values.items()}
    return {"template": text.template, "plural": text.plural, "values": values}


def decode_sentence(data: Any) -> Any:
    """Invert `encode_sentence`. Other values are returned unchanged."""
    match data:
        case {"template": str(template), "plural": str(plural), "values": dict(values)}:
            return Sentence(template, plural, {name: decode_sentence(value) for name, value in values.items()})
    return data


def store_sentence(text: str | None) -> str | None:
    """Return a sentence's template and values for a column beside its text, or None for a plain text."""
    return json.dumps(encode_sentence(text)) if isinstance(text, Sentence) else None


def restore_sentence(text: str | None, stored: str | None) -> str | None:
    """Rebuild a sentence from its stored text. It stays a plain text if the template is missing or differs."""
    if text is None or stored is None:
        return text
    try:
        found = decode_sentence(json.loads(stored))
    except (ValueError, LookupError, TypeError, AttributeError):
        # A damaged row has bad JSON, or values that do not fit.
        return text
    return found if found == text else text
