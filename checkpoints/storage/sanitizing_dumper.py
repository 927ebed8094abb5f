"""The form in which the driver of PostgreSQL gets texts. Only a connection to PostgreSQL imports it."""

from typing import Any

from psycopg.types.string import StrDumperUnknown

from ..values import serde


class SanitizingDumper(StrDumperUnknown):
    """Replace NUL and lone surrogates in the values of queries, such as a typed address: they find nothing instead of
    failing.

    PostgreSQL's TEXT can contain neither. Values to be written lose them in `serde.sanitize_text`.
    """

    def dump(self, obj: str) -> Any:
        try:
            return super().dump(serde.sanitize_text(obj) if "\0" in obj else obj)
        except UnicodeEncodeError:
            return super().dump(serde.sanitize_text(obj))
