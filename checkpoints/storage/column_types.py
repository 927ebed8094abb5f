"""Types of columns that SQLAlchemy does not have."""

from typing import Any

import sqlalchemy as sa

from ..values.checkpoint_ids import decode_id, encode_id


class SearchVector(sa.types.UserDefinedType[str]):
    """PostgreSQL's `tsvector`, read and written as text."""

    cache_ok = True

    def get_col_spec(self, **_: Any) -> str:
        return "TSVECTOR"


class CheckpointId(sa.types.TypeDecorator[str]):
    """LangGraph's id of a state. Bytes ascend in the same order on every database."""

    impl = sa.LargeBinary
    cache_ok = True

    def process_bind_param(self, value: str | None, _dialect: Any) -> bytes | None:
        return None if value is None else encode_id(value)

    def process_result_value(self, value: bytes | None, _dialect: Any) -> str | None:
        return None if value is None else decode_id(value)
