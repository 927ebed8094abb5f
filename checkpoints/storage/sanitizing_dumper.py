"""Sanitize texts sent by the PostgreSQL driver. Imported only with a connection to PostgreSQL."""

from typing import Any

from psycopg.types.string import StrDumperUnknown

from ..values import serde


class SanitizingDumper(StrDumperUnknown):
    """Replace NUL and lone surrogates in query values, such as a typed address, so the query finds nothing instead of
    failing.

    PostgreSQL's TEXT can contain neither. Stored values lose them in `serde.sanitize_text`.
    """

    def dump(self, obj: str) -> Any:
        try:
            return super().dump(serde.sanitize_text(obj) if "\0" in obj else obj)
        except UnicodeEncodeError:
            return super().dump(serde.sanitize_text(obj))
