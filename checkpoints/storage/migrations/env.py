"""Alembic's entry: runs the migrations on the connection and for the tables that are handed over."""

from alembic import context

given = context.config.attributes
context.configure(connection=given["connection"], target_metadata=given["metadata"], render_as_batch=True)
with context.begin_transaction():
    context.run_migrations()
