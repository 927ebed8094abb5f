"""Names of the built-in tools. The page and the settings need them without the tools' large library."""

CALCULATOR = "calculator"
WEB_SEARCH = "web_search"
READ_FILE = "read_file"
ASK_AGENT = "ask_agent"
FORK = "fork"
MOVE_NAMES = frozenset({"goto", "rewind"})
SAVE_CHECKPOINT = "save_checkpoint"
# The branches of a fork are branches of the conversation.
MAIN_AGENT_TOOLS = frozenset({FORK})
TOOL_NAMES = (
    *(CALCULATOR, WEB_SEARCH, READ_FILE, ASK_AGENT, FORK),
    *("goto", "rewind", SAVE_CHECKPOINT, "list_checkpoints"),
)
