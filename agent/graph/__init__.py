"""The LangGraph graph: ask the model, run its tool calls."""
