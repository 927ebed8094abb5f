"""Chat models by their specs, their streams and their errors."""
