"""User graphs: LangGraph graphs of other people. They run in this process, with its rights, on threads of their own."""
