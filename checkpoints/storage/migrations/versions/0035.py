"""A person's instructions for all of their conversations."""

from alembic import op

revision = "0035"
down_revision = "0034"
kind = "expand"

_OF_OWNER = "owner = current_setting('waymark.owner', true) OR current_setting('waymark.everybody', true) = 'on'"


def upgrade() -> None:
    op.execute("CREATE TABLE default_instructions (owner TEXT NOT NULL, text TEXT NOT NULL, PRIMARY KEY (owner))")
    if op.get_bind().dialect.name == "postgresql":
        op.execute("ALTER TABLE default_instructions ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY")
        op.execute(f"CREATE POLICY owned ON default_instructions USING ({_OF_OWNER})")
