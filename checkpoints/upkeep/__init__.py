"""Care of a database: verify, erase, back up."""
