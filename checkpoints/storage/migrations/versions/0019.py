"""What the processes that serve one page share: sessions of people, tries to sign in, uploads, and long requests."""

import sqlalchemy as sa
from alembic import op

revision = "0019"
down_revision = "0018"
kind = "contract"


def upgrade() -> None:
    op.create_table(
        "session",
        *(sa.Column(name, sa.Text(), nullable=False) for name in ("id", "cookie_hash", "page_key_hash", "person", "browser")),
        *(sa.Column(name, sa.BigInteger(), nullable=False) for name in ("signed_in_at", "seen_at")),
        sa.ForeignKeyConstraint(["person"], ["person.name"], ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("cookie_hash"),
    )
    op.create_index("ix_session_person", "session", ["person"])
    op.create_table(
        "sign_in_counter",
        sa.Column("key_hash", sa.Text(), nullable=False),
        sa.Column("clear_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("key_hash"),
    )
    op.create_index("ix_sign_in_counter_clear_at", "sign_in_counter", ["clear_at"])
    op.create_table(
        "upload",
        *(sa.Column(name, sa.Text(), nullable=False) for name in ("id", "owner")),
        sa.Column("size", sa.Integer(), nullable=False),
        sa.Column("bytes", sa.LargeBinary(), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("id"),
    )
    op.create_index("ix_upload_owner", "upload", ["owner"])
    op.create_table(
        "long_request",
        *(sa.Column(name, sa.Text(), nullable=False) for name in ("owner", "id")),
        sa.Column("progress", sa.JSON()),
        sa.Column("cancelled", sa.Boolean(), nullable=False, server_default=sa.false()),
        sa.Column("changed_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("owner", "id"),
    )
