"""The documents tell the truth: their examples run, their settings exist, and the files that they name are there."""

import asyncio
import doctest
import re
import shlex
import sys
import tomllib
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from langchain_core.tools import BaseTool
from pydantic import SecretStr

from agent.tools.names import TOOL_NAMES
from application.commands.arguments import parse_arguments
from application.setting_types import PROVIDER_KEYS
from application.settings import Settings, load_settings
from checkpoints.values import limits
from deploy.supply.pins import GRAPH_CONSTRAINTS, read_pins
from extensions.people.commands import COMMANDS
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
TABLES = ("agents", "extension", "graphs", "mcp", "prices")  # settings that are tables of waymark.toml


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
            parse_arguments(words[2:], COMMANDS)  # a mistake ends the process
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
    assert set(read_settings_table()) == {
        *plain,
        *PROVIDER_KEYS,
        "[agents.NAME]",
        "[extension.NAME]",
        "[graphs.NAME]",
        "[mcp.NAME]",
        "[prices]",
    }


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


# The constants of each row of docs/limits.md, in the row's order. A word with a dot is the module of those that follow it,
# and those before it are of checkpoints/values/limits.py. A number has no constant in Python.
LIMITS = """
MAX_BINARY_FILE_BYTES MAX_PIXELS
MAX_TEXT_FILE_BYTES
MAX_FILES MAX_FILES_BYTES MAX_FILE_NAME_CHARS
agent.context.attachments MAX_ATTACHED_BYTES MAX_TEXT_CHARS
MAX_MESSAGE_CHARS
MAX_NAME_CHARS MAX_DESCRIPTION_CHARS
MAX_INSTRUCTIONS_CHARS MAX_EXTRA_BODY_CHARS
MAX_INSTRUCTIONS_CHARS
MAX_PROMPT_CHARS extensions.tracing.langfuse MAX_ANSWER_BYTES
MAX_SETTING_CHARS agent.models.connections MAX_TRIAL_SECONDS
components.views.shown_text MAX_SHOWN_CHARS MAX_SHOWN_DETAIL_CHARS
components.views.shown_text MAX_VIEW_CHARS MAX_VIEW_CALLS MAX_SHORT_CHARS
MAX_READ_VALUES extensions.graphs.path MAX_PATH_SECONDS checkpoints.values.limits MAX_MEMORY_MESSAGES
components.views.markdown_parser MAX_TABLE_CELLS MAX_TEXT_CELLS
components.views.formulas MAX_FORMULA_CHARS MAX_FORMULA_BRACES MAX_UNCLOSED_BRACKETS
components.routes.thread_list MAX_LISTED_THREADS components.panels.history PORTION_CHECKPOINTS PORTION_BRANCHES \
components.routes.agent_transcript PORTION_MESSAGES components.views.list_rows MAX_SHOWN_DESCRIPTION_CHARS
agent.tools.mcp_limits MAX_MESSAGE_BYTES MAX_MESSAGE_VALUES agent.tools.remote_tool MAX_REMOTE_RESULT_CHARS \
MAX_SCHEMA_VALUES MAX_SCHEMA_CHARS
agent.tools.mcp_limits MAX_MINUTE_BYTES MESSAGE_COST_BYTES
server.protocol MAX_HEAD_BYTES HEAD_SECONDS server.guard MAX_BODY_BYTES \
application.composition.page_server MAX_PAGE_REQUEST_BYTES server.dash_requests MAX_REQUEST_VALUES
server.serving MAX_OPEN_FILES RESERVED_FILES
MAX_ARCHIVE_FILE_BYTES MAX_BINARY_FILE_BYTES components.transfers.uploads MAX_KEPT_BYTES MAX_KEPT_UPLOADS \
MAX_KEPT_SECONDS
server.request_rate MAX_BURST_REQUESTS MAX_REQUESTS_PER_SECOND
components.streams.polled_socket MAX_KEPT_FRAMES MAX_SILENT_SECONDS HOLD_SECONDS
components.routes.stream MAX_THREAD_PAGES MAX_PERSON_PAGES MAX_PAGES MAX_UNREAD_THREAD_PAGES MAX_UNREAD_PERSON_PAGES \
MAX_UNREAD_PAGES
MAX_ANSWER_CHARS MAX_CALLS MAX_LABEL_CHARS
agent.models.other_bodies MAX_STREAM_BYTES MAX_WHOLE_BYTES agent.models.openai MAX_REFUSAL_BYTES
MAX_TOKENS MAX_NUMBER
MAX_REASONING_CHARS MAX_ITEMS_CHARS MAX_ITEM_VALUES MAX_ITEM_LEVELS
agent.time_travel.policy MAX_MOVES_PER_TURN agent.time_travel.moves MAX_NOTE_CHARS MAX_KEPT_AFTER MAX_KEPT_BEFORE \
agent.time_travel.move_paths MAX_OUTSIDE_MESSAGES
agent.subagents.forking MAX_PROMPTS MAX_PROMPT_CHARS MAX_BRANCH_ANSWER_CHARS MAX_BRANCHES_PER_RUN
MAX_ARGUMENT_LEVELS MAX_ARGUMENT_VALUES MAX_PART_VALUES
checkpoints.values.serde MAX_SURROGATES
extensions.graphs.streaming MAX_SHOWN_NODES MAX_SHOWN_LINES MAX_LINE_CHARS extensions.graphs.reporter DELIVERY_SECONDS
components.views.channels_view MAX_SHOWN_CHANNELS components.views.value_tree MAX_TREE_NODES MAX_TREE_CHARS \
MAX_LEVEL_ITEMS MAX_LEVELS components.routes.graph_state MAX_TREE_BYTES MAX_WHOLE_CHARS
components.views.question_forms MAX_SHOWN_QUESTIONS MAX_SHOWN_CHARS MAX_PARTS_CHARS
64
MAX_RESULT_CHARS
agent.preparation.compaction MAX_FOCUS_CHARS
components.comparing MAX_SIDE_MESSAGES components.places MAX_COUNTED_MESSAGES components.views.word_differences MAX_WORDS \
MAX_LINES components.workers.rendering MAX_PAGE_SECONDS
components.places MAX_LISTED_CHECKPOINTS MAX_LISTED_BRANCHES
agent.time_travel.excerpts MAX_CONCLUSION_CHARS MAX_EXCERPT_MESSAGES MAX_EXCERPT_CHARS
agent.run.candidates MIN_MODELS MAX_MODELS
agent.run.reruns MAX_RERUN_QUESTIONS MAX_RERUN_MESSAGES
agent.run.conclusions MAX_CONCLUSION_SECONDS MAX_CONCLUSION_TOKENS MAX_CONCLUDED_CHARS MAX_DRAFTS
MAX_SAVED_VALUES
MAX_GRAPH_MESSAGE_CHARS MAX_SAVED_VALUES MAX_MESSAGE_LEVELS MAX_CALLS
MAX_ALTERNATIVES
MAX_DOCUMENT_BYTES MAX_FILE_LEVELS MAX_DOCUMENT_VALUES MAX_DOCUMENT_MESSAGES MAX_DOCUMENT_PARTS MAX_CONVERSATIONS \
MAX_ARCHIVE_CONVERSATIONS MAX_ARCHIVE_BYTES MAX_BRANCHES_AND_CHECKPOINTS MAX_CALLS MAX_LABEL_CHARS MAX_PART_VALUES \
MAX_ALTERNATIVES MAX_DOCUMENT_STATES MAX_STATE_ITEMS MAX_STATE_CHARS MAX_STATES_ITEMS MAX_STATES_VALUES \
MAX_DOCUMENT_BYTES
checkpoints.interchange.redaction MAX_PATTERNS MAX_PATTERN_CHARS checkpoints.interchange.document_redaction \
MAX_REDACTED_PLACES components.workers.redacted_exports MAX_REDACTION_SECONDS components.workers.redaction_worker \
MAX_MEMORY_BYTES components.workers.redacted_exports MAX_AT_ONCE MAX_WAITING
MAX_TAGS MAX_TAG_CHARS MAX_TAGS_OF_THREAD
MAX_MEMBERS_OF_THREAD MAX_SHARED_THREADS MAX_MEMBER_NAME_CHARS
MAX_SHARES_OF_THREAD MAX_SHARE_DAYS components.routes.shared_page MAX_SHARED_SECONDS server.guard MAX_STRANGER_BURST
MAX_SAVED_PROMPTS MAX_SAVED_PROMPT_CHARS
MAX_SELECTED_THREADS components.routes.export_several MAX_ARCHIVE_CHARS MAX_WHOLE_ARCHIVE_CHARS
MAX_QUERY_CHARS MAX_QUERY_WORDS MAX_SEARCH_HITS checkpoints.rows.search_hits SIFTED_PORTIONS checkpoints.values.limits \
MAX_INDEXED_WORDS checkpoints.search.snippet MAX_ASCII_CHARS MAX_SEARCH_WORDS
MAX_QUERY_WORDS MAX_PATH_HITS checkpoints.rows.path_search MAX_ENTRIES 2000
components.routes.export_download MAX_EXPORTED_CHARS
components.transfers.html_export MAX_HTML_CHARS MAX_IMAGES_CHARS MAX_FORMATTING_SECONDS checkpoints.interchange.readable \
MAX_PLACES MAX_PLACES
components.services MAX_READ_SECONDS
"""


def read_limits_table() -> list[tuple[float, ...]]:
    """The numbers of each row that has any, in bytes, seconds and pieces."""
    units = {"kB": 10**3, "MB": 10**6, "GB": 10**9, "million": 10**6, "minutes": 60}
    rows = re.findall(r"^\| .*? \| (.*) \|$", (ROOT / "docs" / "limits.md").read_text(), re.M)[1:]
    found = [re.findall(r"(\d[\d,]*(?:\.\d+)?)(?: ([a-zA-Z]+))?", row) for row in rows]
    return [tuple(float(number.replace(",", "")) * units.get(unit, 1) for number, unit in row) for row in found if row]


def read_constants(row: str) -> Iterator[float]:
    module: ModuleType = limits
    for word in row.split():
        if "." in word:
            module = import_module(word)
        else:
            yield float(word) if word.isdecimal() else getattr(module, word)


def test_the_table_of_limits_has_the_numbers_of_the_code() -> None:
    """Whatever its words are, each row has the numbers of one of `LIMITS`."""
    shown, known = read_limits_table(), {row: tuple(read_constants(row)) for row in LIMITS.strip().splitlines()}
    assert [numbers for numbers in shown if numbers not in known.values()] == []
    assert [row for row, numbers in known.items() if shown.count(numbers) != [*known.values()].count(numbers)] == []
    assert {name for name in vars(limits) if name.startswith("MAX_")} - set(LIMITS.split()) == set()


def test_the_tool_of_the_example_is_called_by_an_agent_like_every_other(monkeypatch: pytest.MonkeyPatch) -> None:
    source, proof = find_blocks(ROOT / "docs" / "tools.md", "python")
    module: Any = ModuleType("agent.tools.count_words")
    exec(source, vars(module))  # our own text
    monkeypatch.setitem(sys.modules, module.__name__, module)
    names: dict[str, Any] = {}
    exec(proof, names)
    names["test_the_words_of_a_text_are_counted"]()
    asyncio.run(expect_tool_is_called(module.count_words))


def test_the_table_of_tools_names_every_built_in_tool() -> None:
    section = (ROOT / "docs" / "tools.md").read_text().split("## Built-in tools")[1].split("\n## ")[0]
    named = [name for names in re.findall(r"^\| (`.*?) \|", section, re.M) for name in re.findall(r"`(\w+)`", names)]
    assert sorted(named) == sorted(TOOL_NAMES)


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
        # These are the example's own.
        text = re.sub(r"agent/tools/(test_)?count_words\.py", "", document.read_text())
        named = re.findall(
            r"`((?:agent|application|assets|checkpoints|components|deploy|extensions|server|tests)/[\w/.-]*)`", text
        )
        assert [name for name in named if not (ROOT / name).exists()] == [], document


def test_every_file_that_the_code_names_is_there() -> None:
    folders = ("agent", "application", "assets", "checkpoints", "components", "extensions", "server")
    path = re.compile(rf"\b(?:docs|tests|{'|'.join(folders)})/[\w/.-]+\.(?:css|js|md|mjs|py)\b")
    for source in [each for folder in folders for each in (ROOT / folder).rglob("*") if each.suffix in (".mjs", ".py")]:
        named = path.findall(source.read_text(encoding="utf-8"))
        assert [name for name in named if not (ROOT / name).exists()] == [], source


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
    listed = re.findall(r"^\| (\d+) \| \[(.*)\]\((.*)\) \| .* \|$", (DECISIONS[0].parent / "README.md").read_text(), re.M)
    found = [(path.read_text().split("\n")[0], path.name) for path in DECISIONS]
    assert [(f"# {n}. {title}", file) for n, title, file in listed] == found


def test_every_chapter_of_the_security_standard_is_met_or_has_reasons() -> None:
    text = (ROOT / "docs" / "security.md").read_text()
    requirement = re.compile(r"\d+\.\d+\.\d+")
    chapters = re.findall(r"^\| V(\d+) .*? \| (met|not applicable|open: [\d., ]+) \| .+ \|$", text, re.MULTILINE)
    assert [int(number) for number, _ in chapters] == list(range(1, 18))
    named = [(number, found) for number, state in chapters for found in requirement.findall(state)]
    assert all(found.startswith(f"{number}.") for number, found in named)
    reasons = re.findall(r"^\| (\d[\d., ]+)", text, re.MULTILINE)
    assert sorted(found for _, found in named) == sorted(requirement.findall(" ".join(reasons)))
