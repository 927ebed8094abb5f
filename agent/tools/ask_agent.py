"""The tool with which an agent asks another agent, as the model sees it. The graph runs it."""

from langchain_core.tools import ToolException, tool

from agent.tools.run_only import OUTSIDE_RUN_TEXT


@tool
def ask_agent(agent: str, question: str) -> str:
    """Give a question or a piece of work to another agent, and get its answer.

    It sees nothing of this conversation, only what it was asked before: put all that it needs into the question. Several
    agents that are asked in one answer work side by side.

    agent: the name of one of the agents that you were told of.
    question: what to find out or to do, and what the answer should be like.
    """
    raise ToolException(OUTSIDE_RUN_TEXT)
