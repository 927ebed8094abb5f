"""The documents tell the truth: their examples run, their settings exist, and the files that they name are there."""

import asyncio
import doctest
import re
import shlex
import sys
import tomllib
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from langchain_core.tools import BaseTool
from pydantic import SecretStr

from agent.context.attachments import MAX_ATTACHED_BYTES, MAX_TEXT_CHARS
from agent.graph.state import Limits
from agent.models import openai, other_bodies
from agent.models.connections import MAX_TRIAL_SECONDS
from agent.preparation.compaction import MAX_FOCUS_CHARS
from agent.run import candidates, conclusions, reruns
from agent.subagents import forking
from agent.time_travel import excerpts
from agent.time_travel.move_paths import MAX_OUTSIDE_MESSAGES
from agent.time_travel.moves import MAX_KEPT_AFTER, MAX_KEPT_BEFORE, MAX_NOTE_CHARS
from agent.time_travel.policy import MAX_MOVES_PER_TURN
from agent.tools import mcp_limits, remote_tool
from agent.tracing import langfuse
from agent.user_graphs import reporter, streaming
from agent.user_graphs.path import MAX_PATH_SECONDS
from checkpoints.interchange import document_redaction, readable, redaction
from checkpoints.rows import path_search, search_hits
from checkpoints.search import snippet
from checkpoints.values import limits, serde
from commands.arguments import parse_arguments
from components.panels import history
from components.routes import (
    agent_transcript,
    comparison,
    export_download,
    export_several,
    graph_state,
    shared_page,
    stream,
    thread_list,
)
from components.services import MAX_READ_SECONDS
from components.streams import polled_socket
from components.transfers import html_export, uploads
from components.views import channels_view, list_rows, question_forms, shown_text, value_tree, word_differences
from components.views.formulas import MAX_FORMULA_BRACES, MAX_FORMULA_CHARS, MAX_UNCLOSED_BRACKETS
from components.views.markdown_parser import MAX_TABLE_CELLS, MAX_TEXT_CELLS
from components.workers import redacted_exports, redaction_worker, rendering
from config import Settings, load_settings
from server import dash_requests, guard, protocol, request_rate, serving
from setting_types import PROVIDER_KEYS
from startup.page_server import ALLOWED_ROUTES
from supply.pins import GRAPH_CONSTRAINTS, read_pins
from tests.agent.running import model_at, running
from tests.fakes.openai import Call, FakeOpenAI, Say

ROOT = Path(__file__).parent.parent
DOCUMENTS = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])
DECISIONS = sorted((ROOT / "docs" / "decisions").glob("0*.md"))
SAMPLES = {  # values of settings that have no default
    "temperature": "0.5",
    "top_p": "0.5",
    "max_tokens": "9",
    "reasoning_effort": '"low"',
    "extra_body": "{seed = 7}",
}
TABLES = ("agents", "graphs", "mcp", "prices")  # settings that are tables of waymark.toml


def find_blocks(path: Path, language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", path.read_text(encoding="utf-8"), re.DOTALL)


def find_all_blocks(language: str) -> list[Any]:
    return [
        pytest.param(block, id=f"{path.name}-{n}")
        for path in DOCUMENTS
        for n, block in enumerate(find_blocks(path, language))
    ]


def load_text(tmp_path: Path, *, dotenv: str = "", toml: str = "") -> Settings:
    """The settings of these two files and of nothing else."""
    (tmp_path / ".env").write_text(dotenv)
    (tmp_path / "waymark.toml").write_text(toml)
    return load_settings({}, dotenv=tmp_path / ".env", tables=tmp_path / "waymark.toml")


def test_the_worked_example_of_time_travel_is_what_happens() -> None:
    found = doctest.testfile(str(ROOT / "docs" / "time-travel.md"), module_relative=False, optionflags=doctest.ELLIPSIS)
    assert found.attempted > 30
    assert found.failed == 0


def test_the_library_example_of_the_readme_runs() -> None:
    (example,) = find_blocks(ROOT / "README.md", "python")
    names: dict[str, object] = {}
    exec(example, names)  # our own text
    assert names["state"] == {"messages": names["messages"]}


def test_the_env_files_of_the_readme_set_the_model_and_its_key(tmp_path: Path) -> None:
    found = [load_text(tmp_path, dotenv=block) for block in find_blocks(ROOT / "README.md", "dotenv")]
    assert found == [
        Settings(openai_api_key=SecretStr("sk-your-key")),
        Settings(model="openai:llama3.3", openai_base_url="http://127.0.0.1:11434/v1"),
        Settings(model="anthropic:claude-sonnet-4-5", provider_keys={"ANTHROPIC_API_KEY": SecretStr("sk-ant-your-key")}),
    ]


@pytest.mark.parametrize("block", find_all_blocks("dotenv"))
def test_every_env_file_has_one_known_setting_a_line(block: str, tmp_path: Path) -> None:
    keys = [line.partition("=")[0] for line in block.splitlines()]
    assert set(keys) <= {*map(str.upper, Settings.model_fields), *PROVIDER_KEYS}
    assert not re.search(r"=.*\s.*=", block.replace("\n", ";"))
    assert load_text(tmp_path, dotenv=block) != Settings()


def test_every_line_of_the_env_example_is_a_setting_with_its_default(tmp_path: Path) -> None:
    lines = re.findall(r"^# ([A-Z_]+=.*)$", (ROOT / ".env.example").read_text(), re.MULTILINE)
    assert {line.partition("=")[0] for line in lines} <= {*map(str.upper, Settings.model_fields), *PROVIDER_KEYS}
    assert load_text(tmp_path, dotenv="\n".join(lines)) == Settings(model="openai:gpt-5.4-mini")


@pytest.mark.parametrize("block", find_all_blocks("toml"))
def test_every_example_of_waymark_toml_is_read(block: str, tmp_path: Path) -> None:
    assert load_text(tmp_path, toml=block) != Settings()


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_every_command_of_a_document_exists(document: Path) -> None:
    text = document.read_text(encoding="utf-8")
    targets = re.findall(r"^([\w-]+):(?!=)", (ROOT / "Makefile").read_text(), re.MULTILINE)
    lines = [shlex.split(line, comments=True) for block in find_blocks(document, "sh") for line in block.splitlines()]
    lines += [shlex.split(line) for line in re.findall(r"`(?:\.venv/bin/)?((?:make|python app\.py) ?[^`]*)`", text)]
    for words in filter(None, lines):
        if words[0] == "make":
            assert {word for word in words[1:] if "=" not in word} <= set(targets)
        elif words[:2] == ["python", "app.py"]:
            parse_arguments(words[2:])  # a mistake ends the process
        elif words[:3] == [".venv/bin/pip", "install", "--no-deps"]:
            assert {*words[3:], "langchain"} == {pin.name for pin in read_pins(GRAPH_CONSTRAINTS)}
        else:
            assert words[:4] == [".venv/bin/pip", "install", "-c", ".venv/constraints.txt"]
            assert words[4] in ("langchain-anthropic", "langchain")


def test_the_changelog_keeps_the_release_of_the_library() -> None:
    version = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
    releases = re.findall(r"^## (.*)$", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)
    assert [name.split(" – ")[0] for name in releases][:2] == ["Unreleased", version]


def test_the_package_names_its_licence_and_the_security_policy_its_version() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    title = (ROOT / "LICENSE").read_text().split("\n")[0]
    assert title == f"{project['license']} License"
    assert project["license-files"] == ["LICENSE"]
    minor = project["version"].rpartition(".")[0]
    assert f"| {minor} | yes |" in (ROOT / "SECURITY.md").read_text()


def read_settings_table() -> dict[str, tuple[str, str]]:
    """Each setting of the table, with its default and its meaning."""
    section = (ROOT / "docs" / "operations.md").read_text().split("## Settings")[1].split("\n## ")[0]
    rows = [
        [cell.strip().strip("`") for cell in line.strip("|").split(" | ")]
        for line in re.findall(r"^\|.*\|$", section, re.M)[2:]
    ]
    return {name: (default, meaning) for name, default, meaning in rows}


def test_the_table_of_settings_names_every_setting_and_no_other() -> None:
    plain = [name.upper() for name in Settings.model_fields if name not in (*TABLES, "provider_keys")]
    assert set(read_settings_table()) == {*plain, *PROVIDER_KEYS, "[agents.NAME]", "[graphs.NAME]", "[mcp.NAME]", "[prices]"}


def test_the_table_of_settings_shows_the_defaults() -> None:
    defaults, table = Settings(), read_settings_table()
    for name in [name for name in Settings.model_fields if name not in (*TABLES, "provider_keys")]:
        value = getattr(defaults, name)
        shown = "none" if value is None else f"{value:g}" if isinstance(value, float) else str(value)
        assert (name, table[name.upper()][0]) == (name, shown)


def test_the_table_of_settings_names_the_place_in_waymark_toml(tmp_path: Path) -> None:
    for name, (_, meaning) in read_settings_table().items():
        for table, key in re.findall(r"`\[(\w+)\] (\w+)`", meaning):
            default, value = getattr(Settings(), name.lower()), SAMPLES.get(key)
            value = value or ('["some"]' if default is None else "7")
            found = getattr(load_text(tmp_path, toml=f"[{table}]\n{key} = {value}"), name.lower())
            assert found not in (None, default)


def read_limits_table() -> dict[str, str]:
    """The limit of each item."""
    text = (ROOT / "docs" / "limits.md").read_text()
    return dict(re.findall(r"^\| (.*?) \| (.*) \|$", text, re.M)[1:])


def test_the_table_of_limits_shows_the_limits_that_several_doors_share() -> None:
    shared = {name: value for name, value in vars(limits).items() if name.startswith("MAX_")}
    rows = "; ".join(read_limits_table().values())
    assert len(shared) > 25
    assert [name for name, value in shared.items() if not re.search(rf"(?<![\d,]){format_limit(name, value)}\b", rows)] == []


def format_limit(name: str, value: int) -> str:
    if name.endswith(("_BYTES", "_PIXELS")):
        return f"{value // 1_000_000} {'MB' if name.endswith('_BYTES') else 'million pixels'}"
    return f"{value:,}"


def test_the_table_of_limits_shows_the_limits_of_the_code() -> None:
    run = Limits()
    expected = {
        "Images (PNG, JPEG, WebP, GIF) and PDFs": f"{limits.MAX_BINARY_FILE_BYTES / 1e6:g} MB each, "
        f"images {limits.MAX_PIXELS / 1e6:g} million pixels",
        "Texts in UTF-8": f"{limits.MAX_TEXT_FILE_BYTES / 1e6:g} MB each",
        "Attached files of one message": f"{limits.MAX_FILES} files, {limits.MAX_FILES_BYTES / 1e6:g} MB in total, "
        f"{limits.MAX_FILE_NAME_CHARS} characters of a name",
        "Files in one request to a model": f"the newest {MAX_ATTACHED_BYTES / 1e6:g} MB of images and PDFs, counted per "
        f"attachment, and {MAX_TEXT_CHARS:,} characters of each text",
        "One message of a user, an answer instead of a tool, the arguments of an approved call": ""
        f"{limits.MAX_MESSAGE_CHARS:,} characters; the page says so before it sends, and keeps the text",
        "Titles and names": f"{limits.MAX_NAME_CHARS} characters, {limits.MAX_DESCRIPTION_CHARS:,} of a checkpoint's "
        "description; longer ones are cut",
        "Settings of a conversation": f"{limits.MAX_INSTRUCTIONS_CHARS:,} characters of instructions, "
        f"{limits.MAX_EXTRA_BODY_CHARS:,} of an extra body",
        "Instructions from Langfuse": f"{limits.MAX_PROMPT_CHARS:,} characters, in an answer of "
        f"{langfuse.MAX_ANSWER_BYTES // 10**6} MB",
        "A key, an address or a name in the form that connects a model": f"one line of {limits.MAX_SETTING_CHARS:,} "
        f"characters; the model has {MAX_TRIAL_SECONDS:g} s to answer",
        "The page": f"the first {shown_text.MAX_SHOWN_CHARS:,} characters of a message, "
        f"{shown_text.MAX_SHOWN_DETAIL_CHARS:,} of arguments, a result or reasoning, and a link to all of it",
        "One view": f"{shown_text.MAX_VIEW_CHARS:,} characters of texts and their HTML and {shown_text.MAX_VIEW_CALLS} "
        f"calls with cards, newest messages first; {shown_text.MAX_SHORT_CHARS} characters of each text beyond; up to four "
        "times as much where “earlier” was used",
        "One reading for a view or a request": f"the newest messages with {limits.MAX_READ_VALUES:,} values; each “earlier” "
        "brings as many more, and a request has the last turn whole; a user graph that takes its messages anew has all of "
        f"them, read in {MAX_PATH_SECONDS:g} s or the run ends; a sub-agent with a larger memory, "
        f"or one of more than {limits.MAX_MEMORY_MESSAGES:,} messages, cannot move in it",
        "One table, all tables of a text": f"{MAX_TABLE_CELLS:,} and {MAX_TEXT_CELLS:,} cells; a table "
        "beyond is shown as it was written",
        "One formula": f"{MAX_FORMULA_CHARS:,} characters, {MAX_FORMULA_BRACES:,} braces and {MAX_UNCLOSED_BRACKETS} "
        "unclosed brackets; a larger one is shown as it was written",
        "One portion of a list": f"{thread_list.MAX_LISTED_THREADS} conversations, "
        f"{history.PORTION_CHECKPOINTS} checkpoints, {history.PORTION_BRANCHES} branches, "
        f"{agent_transcript.PORTION_MESSAGES} messages of an agent's memory; "
        f"{list_rows.MAX_SHOWN_DESCRIPTION_CHARS} characters of a checkpoint's description",
        "One message of an MCP server": f"{mcp_limits.MAX_MESSAGE_BYTES / 1e6:g} MB and {mcp_limits.MAX_MESSAGE_VALUES:,} "
        f"values, {remote_tool.MAX_REMOTE_RESULT_CHARS:,} characters of result; "
        f"a schema of {remote_tool.MAX_SCHEMA_VALUES:,} values and {remote_tool.MAX_SCHEMA_CHARS:,} characters",
        "All messages of an MCP server in a minute": f"{mcp_limits.MAX_MINUTE_BYTES / 1e6:g} MB, each message with "
        f"{mcp_limits.MESSAGE_COST_BYTES / 1e3:g} kB more; beyond it the session is opened again",
        "One request to the server": f"{protocol.MAX_HEAD_BYTES:,} bytes of address and headers in "
        f"{protocol.HEAD_SECONDS:g} s, a body of {guard.MAX_BODY_BYTES / 1e6:g} MB (of the page's actions "
        f"{ALLOWED_ROUTES.find_body_limit('/_dash-update-component') / 1e6:g} MB and "
        f"{dash_requests.MAX_REQUEST_VALUES:,} values)",
        "Connections at once": "as many files as the system lets Waymark open, up to "
        f"{serving.MAX_OPEN_FILES:,}, less {serving.RESERVED_FILES} for everything else",
        "Uploads": f"{ALLOWED_ROUTES.find_body_limit('/api/uploads/import') / 1e6:g} MB of a file to import, "
        f"{ALLOWED_ROUTES.find_body_limit('/api/uploads/file') / 1e6:g} MB of an attached file; all together "
        f"{uploads.MAX_KEPT_BYTES / 1e6:g} MB and {uploads.MAX_KEPT_UPLOADS} files, "
        f"for {uploads.MAX_KEPT_SECONDS / 60:g} minutes",
        "Requests of one session for data": f"{request_rate.MAX_BURST_REQUESTS:,} at once, and then "
        f"{request_rate.MAX_REQUESTS_PER_SECOND} a second",
        "Requests in place of a socket": f"{polled_socket.MAX_KEPT_FRAMES} frames wait for a page that does not ask, "
        f"for {polled_socket.MAX_SILENT_SECONDS:g} s; an answer waits {polled_socket.HOLD_SECONDS:g} s for frames",
        "Pages that follow answers": f"{stream.MAX_THREAD_PAGES} of one conversation, "
        f"{stream.MAX_PERSON_PAGES} of one of several people, {stream.MAX_PAGES} together; "
        f"beside them {stream.MAX_UNREAD_THREAD_PAGES}, "
        f"{stream.MAX_UNREAD_PERSON_PAGES} and {stream.MAX_UNREAD_PAGES} that have not read anything",
        "One run, one of its agents, one branch": "answers, tool calls and seconds: the settings `LIMITS_…`",
        "One answer": f"{run.max_answer_chars:,} characters, {limits.MAX_CALLS} tool calls, {limits.MAX_LABEL_CHARS} "
        "characters of a provider's name for a tool, a call or a model",
        "One response of a provider": f"{other_bodies.MAX_STREAM_BYTES / 1e6:g} MB of a stream, "
        f"{other_bodies.MAX_WHOLE_BYTES / 1e6:g} MB of one event or of a whole answer, "
        f"{openai.MAX_REFUSAL_BYTES / 1e6:g} MB of a refusal; of seconds, those of the agent or the run",
        "Tokens, and other whole numbers from outside": f"{limits.MAX_TOKENS:,}, and {limits.MAX_NUMBER:,}; "
        "a larger one counts as unknown",
        "Reasoning of one answer": f"{limits.MAX_REASONING_CHARS:,} characters of text, {limits.MAX_ITEMS_CHARS:,} "
        f"characters, {limits.MAX_ITEM_VALUES:,} values and {limits.MAX_ITEM_LEVELS} levels of the provider's items",
        "Agent moves": f"{MAX_MOVES_PER_TURN} between two messages of the user, {MAX_NOTE_CHARS:,} characters of a "
        f"message after the move; with `keep_independent`, {MAX_KEPT_AFTER:,} messages after the answer that is replaced, "
        f"and {MAX_KEPT_BEFORE:,} from its question to it; "
        f"sources among the newest {MAX_OUTSIDE_MESSAGES} messages with something from outside, older ones as “earlier "
        "messages”",
        "One fork": f"{forking.MAX_PROMPTS} prompts of {forking.MAX_PROMPT_CHARS:,} characters, "
        f"{forking.MAX_BRANCH_ANSWER_CHARS:,} characters of each result, {forking.MAX_BRANCHES_PER_RUN} branches of one run",
        "Arguments of tool calls": f"{limits.MAX_ARGUMENT_LEVELS} levels of nesting, {limits.MAX_ARGUMENT_VALUES:,} values "
        f"in all calls of one answer; in a user graph, {limits.MAX_PART_VALUES:,} in one call",
        "Halves of surrogate pairs in one text": f"{serde.MAX_SURROGATES:,}; of a text with more, all are left out",
        "Progress of a user graph": f"{streaming.MAX_SHOWN_NODES} nodes, {streaming.MAX_SHOWN_LINES} lines of "
        f"{streaming.MAX_LINE_CHARS} characters, {1 / reporter.DELIVERY_SECONDS:g} times a second",
        "Values of a graph that are shown": f"{channels_view.MAX_SHOWN_CHANNELS} channels; "
        f"{value_tree.MAX_TREE_NODES:,} nodes and {value_tree.MAX_TREE_CHARS:,} characters of a place, "
        f"{value_tree.MAX_LEVEL_ITEMS} items of a level, {value_tree.MAX_LEVELS} levels; "
        f"{graph_state.MAX_TREE_BYTES:,} bytes of one as a tree, "
        f"{graph_state.MAX_WHOLE_CHARS // 10**6} million characters as a text",
        "Questions of a user graph": f"{question_forms.MAX_SHOWN_QUESTIONS} shown, "
        f"{question_forms.MAX_SHOWN_CHARS:,} characters of each text, {question_forms.MAX_PARTS_CHARS:,} of all calls or "
        "fields of one; larger ones are shown and answered as JSON",
        "An integer in a form of a user graph": "64 bits, all digits exact; LangGraph stores no larger ones",
        "One tool call": f"`LIMITS_TOOL_SECONDS`, {run.max_result_chars:,} characters of result",
        "`/compact`": f"{MAX_FOCUS_CHARS:,} characters of what to keep",
        "One comparison": f"{comparison.MAX_SIDE_MESSAGES} messages of each side, figures of "
        f"{comparison.MAX_COUNTED_MESSAGES:,}; words of texts that differ in up to {word_differences.MAX_WORDS:,}, else "
        f"lines up to {word_differences.MAX_LINES:,}; {rendering.MAX_PAGE_SECONDS:g} s of a processor together",
        "One note from another branch": f"{excerpts.MAX_CONCLUSION_CHARS:,} characters of a conclusion, "
        f"{excerpts.MAX_EXCERPT_MESSAGES} quoted messages, {excerpts.MAX_EXCERPT_CHARS:,} characters together",
        "Several models at once": f"{candidates.MIN_MODELS} to {candidates.MAX_MODELS}, each with the limits of an agent",
        "One rerun": f"{reruns.MAX_RERUN_QUESTIONS} questions, among the first {reruns.MAX_RERUN_MESSAGES:,} messages of "
        "the path",
        "One draft of a conclusion": f"{conclusions.MAX_CONCLUSION_SECONDS:g} s, {conclusions.MAX_CONCLUSION_TOKENS:,} "
        f"tokens, the newest {conclusions.MAX_CONCLUDED_CHARS:,} characters of the branch; one of a conversation and "
        f"{conclusions.MAX_DRAFTS} of a person at once",
        "A state that the library saves": f"{limits.MAX_SAVED_VALUES:,} values in one message, and in the further keys",
        "A message that a [graph of your own](graphs.md) writes": f"{limits.MAX_GRAPH_MESSAGE_CHARS:,} characters, "
        f"{limits.MAX_SAVED_VALUES:,} values, {limits.MAX_MESSAGE_LEVELS} levels, {limits.MAX_CALLS} tool calls",
        "Alternatives at one place": f"{limits.MAX_ALTERNATIVES}, from a person, an agent or a file",
        "An import": f"{limits.MAX_DOCUMENT_BYTES / 1e6:g} MB, {limits.MAX_FILE_LEVELS} levels of nesting, "
        f"{limits.MAX_DOCUMENT_VALUES:,} values, "
        f"{limits.MAX_DOCUMENT_MESSAGES:,} messages, "
        f"{limits.MAX_DOCUMENT_PARTS:,} parts in the contents of all messages, "
        f"{limits.MAX_CONVERSATIONS} conversations (of an archive {limits.MAX_ARCHIVE_CONVERSATIONS:,} with "
        f"{limits.MAX_ARCHIVE_BYTES // 10**6} MB unpacked, and on the command line any size), "
        f"{limits.MAX_BRANCHES_AND_CHECKPOINTS:,} branches and checkpoints together, "
        f"{limits.MAX_CALLS} tool calls in one message with {limits.MAX_LABEL_CHARS} characters of a name or an id, "
        f"{limits.MAX_PART_VALUES:,} values in one message, one checkpoint or the settings, "
        f"{limits.MAX_ALTERNATIVES} alternatives at one place; {limits.MAX_DOCUMENT_STATES:,} states of a graph, each with "
        f"{limits.MAX_STATE_ITEMS:,} values of {limits.MAX_STATE_CHARS // 10**6} million characters, "
        f"{limits.MAX_STATES_ITEMS:,} values together, and {limits.MAX_STATES_VALUES:,} within these; "
        f"a file of another format has {limits.MAX_DOCUMENT_BYTES / 1e6:g} MB once it is converted",
        "A redaction": f"{redaction.MAX_PATTERNS} patterns of {redaction.MAX_PATTERN_CHARS} characters, "
        f"{document_redaction.MAX_REDACTED_PLACES:,} places; on the page {redacted_exports.MAX_REDACTION_SECONDS:g} s of a "
        f"processor and {redaction_worker.MAX_MEMORY_BYTES // 10**9} GB, {redacted_exports.MAX_AT_ONCE} exports at once and "
        f"{redacted_exports.MAX_WAITING} that wait",
        "Tags": f"{limits.MAX_TAGS} tags of {limits.MAX_TAG_CHARS} characters; "
        f"{limits.MAX_TAGS_OF_THREAD} of a conversation",
        "People of a conversation": f"{limits.MAX_MEMBERS_OF_THREAD} whom its owner lets in; one person is let into "
        f"{limits.MAX_SHARED_THREADS:,}; {limits.MAX_MEMBER_NAME_CHARS} characters of a name",
        "Links to a conversation": f"{limits.MAX_SHARES_OF_THREAD} of {limits.MAX_SHARE_DAYS} days; a page is made "
        f"within the limits of an export as HTML, with {shared_page.MAX_SHARED_SECONDS:g} processor seconds to format its "
        f"texts; one address opens {guard.MAX_STRANGER_BURST} at once, and then one each second",
        "The library of prompts": f"{limits.MAX_SAVED_PROMPTS} prompts of {limits.MAX_SAVED_PROMPT_CHARS:,} characters",
        "Conversations that one action changes or exports": f"{limits.MAX_SELECTED_THREADS:,}; the files of one export "
        f"{export_several.MAX_ARCHIVE_CHARS // 10**6} million characters together, "
        f"and of all conversations {export_several.MAX_WHOLE_ARCHIVE_CHARS // 10**6} million",
        "A search": f"{limits.MAX_QUERY_CHARS} characters and {limits.MAX_QUERY_WORDS} words of a query, "
        f"the newest {limits.MAX_SEARCH_HITS} matches, of notes and user messages among the newest "
        f"{search_hits.SIFTED_PORTIONS * limits.MAX_SEARCH_HITS:,}; "
        f"the first {limits.MAX_INDEXED_WORDS:,} words of a message with its attached texts; marks in the first "
        f"{snippet.MAX_ASCII_CHARS:,} characters of a text, and of other scripts in "
        f"{snippet.MAX_SEARCH_WORDS:,} words together",
        "Find in a conversation (Ctrl+F)": f"the first {limits.MAX_QUERY_WORDS} words; the newest {limits.MAX_PATH_HITS:,} "
        f"messages, taken from the newest {path_search.MAX_ENTRIES:,} of all its branches; 2,000 marks in the page",
        "An export of the page": f"{export_download.MAX_EXPORTED_CHARS // 10**6} million characters of the messages of one "
        "conversation",
        "An export as HTML": f"{html_export.MAX_HTML_CHARS // 10**6} million characters of its texts; "
        f"{html_export.MAX_IMAGES_CHARS // 10**6} million of its images, which are named beyond; "
        f"{html_export.MAX_FORMATTING_SECONDS:g} processor seconds to format its texts, which are unformatted beyond; "
        f"{readable.MAX_PLACES:,} branches and {readable.MAX_PLACES:,} checkpoints in its graph, the newest",
        "A reading of the database": f"{MAX_READ_SECONDS:g} seconds, then a sentence",
    }
    assert read_limits_table() == expected


def test_the_tool_of_the_example_is_called_by_an_agent_like_every_other(monkeypatch: pytest.MonkeyPatch) -> None:
    source, proof = find_blocks(ROOT / "docs" / "tools.md", "python")
    module: Any = ModuleType("agent.tools.count_words")
    exec(source, vars(module))  # our own text
    monkeypatch.setitem(sys.modules, module.__name__, module)
    names: dict[str, Any] = {}
    exec(proof, names)
    names["test_the_words_of_a_text_are_counted"]()
    asyncio.run(expect_tool_is_called(module.count_words))


async def expect_tool_is_called(tool: BaseTool) -> None:
    with FakeOpenAI() as fake:
        fake.reply(Call("count_words", {"text": "to be or not to be"}, id="1"), Say("Four of six."))
        async with model_at(fake) as model, running(model, [tool]) as chat:
            await chat.say("How many words are there?")
            assert [text for kind, _, text in chat.said() if kind == "tool"] == ["6 words, 4 of them different"]


def test_every_file_that_a_document_links_to_is_there() -> None:
    for document in DOCUMENTS:
        links = re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", document.read_text())
        assert [link for link in links if not (document.parent / link).exists()] == [], document


def test_every_heading_that_a_document_links_to_is_there() -> None:
    for document in DOCUMENTS:
        for target, anchor in re.findall(r"\]\(([^)#:]*)#([^)]+)\)", document.read_text()):
            headings = re.findall(r"^#+ (.*)$", (document.parent / target if target else document).read_text(), re.MULTILINE)
            assert anchor in [re.sub(r"[^\w -]", "", each.lower()).replace(" ", "-") for each in headings], document


def test_every_module_that_a_document_names_is_there() -> None:
    for document in DOCUMENTS:
        text = document.read_text().replace("agent/tools/count_words.py", "")  # the example's own
        named = re.findall(r"`((?:agent|assets|checkpoints|components|server|tests)/[\w/.-]*)`", text)
        assert [name for name in named if not (ROOT / name).exists()] == [], document


def test_every_guarantee_names_its_tests() -> None:
    rows = re.findall(r"^\| ([A-Z].*?) \| (.*) \|$", (ROOT / "docs" / "guarantees.md").read_text(), re.MULTILINE)
    assert len(rows) >= 20
    assert [claim for claim, proof in rows if not re.fullmatch(r"(`tests/[\w/]+\.py`(, )?)+", proof)] == []


def test_every_decision_has_the_same_form_and_the_title_of_its_file() -> None:
    for decision in DECISIONS:
        title, *rest = decision.read_text().split("\n")
        assert decision.stem == "{:0>4}-{}".format(
            *re.sub(r"^# (\d+)\. ", r"\1 ", title).lower().replace(" ", "-").split("-", 1)
        )
        assert re.fullmatch(r"\*\*Date:\*\* \d{4}-\d\d-\d\d\. \*\*Status:\*\* (accepted|replaced by \d+)\.", rest[1]), (
            decision
        )
        headings = [line for line in rest if line.startswith("#")]
        assert headings == ["## Context", "## Decision", "## Why", "## Not taken"], decision


def test_the_list_of_decisions_is_complete() -> None:
    listed = re.findall(
        r"^\| (\d+) \| \[(.*)\]\((.*)\) \| .* \| (.*) \| (.*) \|$", (DECISIONS[0].parent / "README.md").read_text(), re.M
    )
    heads = [path.read_text().split("\n")[:3:2] for path in DECISIONS]
    assert [(f"# {n}. {title}", f"**Date:** {date}. **Status:** {status}.") for n, title, _, date, status in listed] == [
        *map(tuple, heads)
    ]
    assert [file for _, _, file, _, _ in listed] == [path.name for path in DECISIONS]


def test_every_chapter_of_the_security_standard_is_met_or_has_reasons() -> None:
    text = (ROOT / "docs" / "security.md").read_text()
    requirement = re.compile(r"\d+\.\d+\.\d+")
    chapters = re.findall(r"^\| V(\d+) .*? \| (met|not applicable|open: [\d., ]+) \| .+ \|$", text, re.MULTILINE)
    assert [int(number) for number, _ in chapters] == list(range(1, 18))
    named = [(number, found) for number, state in chapters for found in requirement.findall(state)]
    assert all(found.startswith(f"{number}.") for number, found in named)
    reasons = re.findall(r"^\| (\d[\d., ]+)", text, re.MULTILINE)
    assert sorted(found for _, found in named) == sorted(requirement.findall(" ".join(reasons)))
