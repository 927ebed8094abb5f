"""Changes to a thread: one transaction, branches, undo."""
