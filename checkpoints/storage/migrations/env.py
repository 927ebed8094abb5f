"""Alembic's entry: runs the migrations on the connection that is handed over."""

from alembic import context

from checkpoints.storage import schema

context.configure(connection=context.config.attributes["connection"], target_metadata=schema.metadata, render_as_batch=True)
with context.begin_transaction():
    context.run_migrations()
