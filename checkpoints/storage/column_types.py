"""Column types missing in SQLAlchemy."""

import re
from typing import Any

import sqlalchemy as sa

from ..values.checkpoint_ids import decode_id, encode_id
from ..values.serde import HASH_PREFIX

_HASH = re.compile(rf"{HASH_PREFIX}([0-9a-f]{{64}})")


class SearchVector(sa.types.UserDefinedType[str]):
    """PostgreSQL's `tsvector`, read and written as text."""

    cache_ok = True

    def get_col_spec(self, **_: Any) -> str:
        return "TSVECTOR"


class CheckpointId(sa.types.TypeDecorator[str]):
    """LangGraph's state id, as bytes with the same order on every database."""

    impl = sa.LargeBinary
    cache_ok = True

    def process_bind_param(self, value: str | None, _dialect: Any) -> bytes | None:
        return None if value is None else encode_id(value)

    def process_result_value(self, value: bytes | None, _dialect: Any) -> str | None:
        return None if value is None else decode_id(value)


class MessageHash(sa.types.TypeDecorator[str]):
    """A message's hash as text. SQLite stores its bytes. A damaged hash may be any text."""

    impl = sa.Text
    cache_ok = True

    def process_bind_param(self, value: str | None, dialect: Any) -> Any:
        if value is None or dialect.name != "sqlite":
            return value
        found = _HASH.fullmatch(value)
        return bytes.fromhex(found[1]) if found else value

    def process_result_value(self, value: Any, _dialect: Any) -> str | None:
        return HASH_PREFIX + value.hex() if isinstance(value, bytes) else value
