"""The database: its tables, how it is opened, and rows read as values."""
