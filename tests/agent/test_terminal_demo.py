"""The demonstrations in the terminal, offline and with a provider: what they tell, and what they ask with."""

import json
import os
import re
import subprocess
import sys
from io import StringIO
from pathlib import Path

import pytest

from agent.demo.model import DemoChatModel
from agent.models.catalog import ConfiguredModels
from agent.models.keys import ProviderKeys
from agent.terminal_demo import AGAIN, DEMONSTRATIONS, LOGBOOK_NAME
from application.commands.arguments import parse_arguments
from application.commands.output import EXIT_OK
from application.commands.running import run_demonstration
from application.settings import Settings
from tests.app_process import ROOT
from tests.fakes.openai import Call, FakeOpenAI, Say

pytestmark = pytest.mark.slow

OFFLINE = ConfiguredModels(ProviderKeys(), "demo", demo_seconds_per_token=0)
READING = (Call("read_file", {"path": LOGBOOK_NAME}, id="1"), Say("Day 143, and day 151 by Ingrid Sorensen for 412 crowns."))
NOTE = "The logbook is read: Ingrid Sorensen repaired the lamp on day 151 for 412 crowns."


def compaction(folder: Path, **environment: str) -> tuple[int, str]:
    """The exit code, and what stood in a terminal that is a pipe."""
    environment |= {"PATH": os.environ["PATH"], "DEMO_SECONDS_PER_TOKEN": "0"}
    command = [sys.executable, str(ROOT / "app.py"), "demo", "compaction"]
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=240, check=False)
    assert done.stderr == ""
    return done.returncode, done.stdout


def test_the_compaction_offline_saves_most_tokens_and_still_knows_the_facts(tmp_path: Path) -> None:
    code, told = compaction(tmp_path)
    found = re.search(r"before going back: ([\d,]+); after it: ([\d,]+); (\d+)% saved", told)
    assert code == 0
    assert found is not None
    before, after, saved = (int(number.replace(",", "")) for number in found.groups())
    assert (saved >= 60, after < before * 0.4) == (True, True)
    assert "Ingrid Sorensen" in told.partition(AGAIN)[2]
    assert list(tmp_path.iterdir()) == []


def test_after_the_compaction_the_erased_text_is_in_no_request_and_the_facts_are(tmp_path: Path) -> None:
    with FakeOpenAI() as fake:
        back = Call("goto", {"position": "msg_0", "message": NOTE}, id="2")
        fake.reply(*READING, back, Say("I know it."), Say("Ingrid, 412 crowns."))
        given = {"MODEL": "openai:some", "OPENAI_API_KEY": "sk-none", "OPENAI_BASE_URL": fake.base_url}
        code, told = compaction(tmp_path, **given)
        asked = [json.dumps(request["messages"]) for request in fake.requests]
    assert code == 0
    assert ["barometer" in each for each in asked] == [False, True, True, False, False]
    assert NOTE in asked[3]
    assert NOTE in asked[4]
    assert AGAIN in asked[4]
    assert "went back to msg_0: 5 messages removed" in told
    assert "The file was not read again." in told


def test_a_compaction_in_which_the_agent_stays_where_it_is_has_failed(monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[str] = []
    monkeypatch.setattr(DemoChatModel, "bind_tools", lambda self, _: self)  # it knows of no tool
    assert not DEMONSTRATIONS["compaction"](OFFLINE, lambda: None, told.append)
    assert told[-1] == "The agent did not go back."


def test_the_talk_shows_its_state_begins_anew_and_counts_the_moves(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "stdin", StringIO("hello\n/state\nstart over\n/reset\n/state\n"))
    assert run_demonstration(parse_arguments(["demo", "goto"]), Settings(demo_seconds_per_token=0)) == EXIT_OK
    told = capsys.readouterr().out.replace("you: ", "")
    assert "\n[msg_0] human: hello\n[msg_1] ai: Hello! I am the demo model." in told
    assert "\n  <= went back to msg_0: 3 messages removed\n" in told
    assert re.findall(r"^\(.*\)$", told, re.MULTILINE) == [
        "(2 messages, 0 moves)",
        "(2 messages, 0 moves)",
        "(3 messages, 1 move)",
        "(0 messages, 0 moves)",
        "(nothing was said yet)",
        "(0 messages, 0 moves)",
    ]


def test_a_model_writes_no_escape_codes_to_the_terminal(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "stdin", StringIO("I say \x1b[31mred\n"))  # the demo model repeats it
    run_demonstration(parse_arguments(["demo", "goto"]), Settings(demo_seconds_per_token=0))
    told = capsys.readouterr().out
    assert ("\x1b" in told, "\\x1b" in told) == (False, True)
