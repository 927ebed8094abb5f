"""The tools with which an author's own agent moves through time. Authors import them from `waymark`."""

from typing import Any

from langchain_core.runnables import RunnableConfig
from langchain_core.tools import BaseTool, StructuredTool, tool

from agent.tools import time_travel as built_in
from agent.tools.run_only import OUTSIDE_RUN_TEXT
from extensions.graphs.travel import TRAVEL_KEY, GraphTravel

SUBAGENT_TEXT = "Only the agent that the user talks to can do this: tell it what you found out. Nothing was changed."
_POSITION_TEXT = (
    "msg_0 for the first message of the conversation, msg_1 for the second and so on, or the name of a checkpoint"
)


def _make_tool(described: BaseTool) -> BaseTool:
    """Return a tool with the name, the words and the arguments of another one, which asks the run of the graph."""

    def ask_run(config: RunnableConfig, **arguments: Any) -> str:
        place: Any = config.get("configurable") or {}
        travel = place.get(TRAVEL_KEY)
        if not isinstance(travel, GraphTravel):
            return OUTSIDE_RUN_TEXT
        if "|" in place.get("checkpoint_ns", ""):
            return SUBAGENT_TEXT
        return travel.answer_call(described.name, arguments)

    return StructuredTool.from_function(
        ask_run,
        name=described.name,
        description=described.description.replace(built_in.POSITION_TEXT, _POSITION_TEXT),
        args_schema=described.args_schema,
        infer_schema=False,
    )


@tool("rewind")
def _rewind(n: int, content: str) -> str:
    """Replace one of your own earlier answers; what followed it leaves the conversation.

    n: which answer: 1 is the first, -1 the last one before now.
    content: the answer that should stand there.
    """
    raise NotImplementedError


goto = _make_tool(built_in.goto)
rewind = _make_tool(_rewind)
save_checkpoint = _make_tool(built_in.save_checkpoint)
list_checkpoints = _make_tool(built_in.list_checkpoints)
