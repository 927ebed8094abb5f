"""Statements: rows read as values, and values written as rows."""
