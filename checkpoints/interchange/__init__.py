"""Documents: the format waymark/1, other formats, import, export, redaction."""
