"""The tools with which an agent moves through time, as the model sees them. The graph runs them."""

from collections.abc import Mapping

from langchain_core.tools import BaseTool, ToolException, tool

from agent.context.numbering import NumberStyle
from agent.tools.run_only import OUTSIDE_RUN_TEXT


@tool
def goto(position: str, message: str, keep_target: bool = True) -> str:
    """Go back to an earlier message of this conversation and carry a summary forward.

    Use it to drop work that went wrong or is done with, and to make room. All messages after the target leave the
    conversation, and with them everything that you read there: write into `message` whatever must still be known, what
    you found out, and what to do next. The user may be asked first, and can undo it.

    position: the number that stands before the message, such as msg_3, or the name of a checkpoint.
    message: what to know from there on.
    keep_target: false puts your message in the place of the target instead of after it.
    """
    raise ToolException(OUTSIDE_RUN_TEXT)


@tool
def rewind(n: int, content: str, agent: str = "", keep_independent: bool = False) -> str:
    """Replace one of your own earlier answers, or one of another agent; what followed it leaves the conversation.

    After another agent's answer was replaced you go on from there, as if it had answered so.

    n: which answer: 1 is the first, -1 the last one before now.
    content: the answer that should stand there.
    agent: the name of the agent whose answer it is; without one, your own.
    keep_independent: true keeps the work of others that does not depend on the old answer.
    """
    raise ToolException(OUTSIDE_RUN_TEXT)


@tool
def save_checkpoint(name: str, description: str = "") -> str:
    """Save a checkpoint of the conversation as it stands, to come back to with goto.

    name: a few words that say what is reached here.
    """
    raise ToolException(OUTSIDE_RUN_TEXT)


@tool
def list_checkpoints() -> str:
    """List the checkpoints of this conversation: name, message number, description."""
    raise ToolException(OUTSIDE_RUN_TEXT)


MOVE_TOOLS: tuple[BaseTool, ...] = (goto, rewind)
TIME_TRAVEL_TOOLS: tuple[BaseTool, ...] = (*MOVE_TOOLS, save_checkpoint, list_checkpoints)
POSITION_TEXT = "the number that stands before the message, such as msg_3, or the name of a checkpoint"
_LIST_TEXT = "name, message number, description"
_STYLE_TEXTS: Mapping[NumberStyle, Mapping[str, str]] = {
    "msg": {},
    "short": {POSITION_TEXT: "the number that stands before the message, such as m3, or the name of a checkpoint"},
    "off": {POSITION_TEXT: "the name of a checkpoint", _LIST_TEXT: "name and description"},
}


def describe_positions(tool: BaseTool, style: NumberStyle) -> BaseTool:
    """Return the tool with a description that names positions as the model sees them."""
    description = tool.description
    for text, replacement in _STYLE_TEXTS[style].items():
        description = description.replace(text, replacement)
    return tool if description == tool.description else tool.model_copy(update={"description": description})
