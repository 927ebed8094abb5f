"""Values: messages, paths, operations, limits, errors. Nothing here reads or writes."""
