"""Tools that an agent can be given, one file a tool, and the approval of their calls."""
