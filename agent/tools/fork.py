"""The tool with which the agent makes several attempts at once, as the model sees it. The graph runs it."""

from langchain_core.tools import ToolException, tool

from agent.tools.run_only import OUTSIDE_RUN_TEXT


@tool
def fork(prompts: list[str]) -> str:
    """Try several ways at once: each prompt is worked on by itself, on a branch of this conversation that begins here.

    Every branch knows the conversation up to here and its own prompt, and nothing of the others. You get all results, in
    the order of the prompts; the user can open each branch. A branch cannot fork or go back in time.

    prompts: 1 to 10 complete instructions, one for each way.
    """
    raise ToolException(OUTSIDE_RUN_TEXT)
