"""The names of the built-in tools. The page and the settings need them without the tools, whose library is large."""

CALCULATOR = "calculator"
WEB_SEARCH = "web_search"
READ_FILE = "read_file"
ASK_AGENT = "ask_agent"
FORK = "fork"
MOVE_NAMES = frozenset({"goto", "rewind"})
SAVE_CHECKPOINT = "save_checkpoint"
MAIN_AGENT_TOOLS = frozenset({FORK})  # its branches are branches of the conversation
TOOL_NAMES = (
    *(CALCULATOR, WEB_SEARCH, READ_FILE, ASK_AGENT, FORK),
    *("goto", "rewind", SAVE_CHECKPOINT, "list_checkpoints"),
)
