"""goto and rewind: plan a move, make it, report it."""
