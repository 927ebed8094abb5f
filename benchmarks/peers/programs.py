"""The programs that are measured: Waymark, two floors and two peers."""

import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from playwright.sync_api import Browser, CDPSession, Page, StorageState

from benchmarks.browser import WAYMARK, Places, open_page
from benchmarks.server import APP, Server, WaymarkServer
from benchmarks.stored import end_of

APPS = Path(__file__).parent / "apps"


@dataclass(frozen=True)
class Program:
    """A program under its name in the table. `talks`: has a chat; `stores`: can show a stored conversation."""

    name: str
    command: Sequence[str]
    places: Places
    health: str = "/"
    talks: bool = True
    stores: bool = True

    def start(self, folder: Path, settings: Mapping[str, str]) -> Server:
        """Start it with a folder for its data and with the model's settings."""
        if self is WAYMARK_APP:
            return WaymarkServer(folder, **settings, MODEL="openai:fake-model")
        own = {"HOME": str(folder), "PORT": "{port}", "MODEL": "fake-model", **OFFLINE_SETTINGS}
        return Server(self.command, folder, {**own, **settings}, health=self.health)


WAYMARK_APP = Program("Waymark", APP, WAYMARK)
OFFLINE_SETTINGS = {"GRADIO_ANALYTICS_ENABLED": "False", "HF_HUB_OFFLINE": "1", "DO_NOT_TRACK": "1"}
BARE, DASH, STREAMLIT, GRADIO = "bare page", "empty Dash page", "Streamlit chat", "Gradio ChatInterface"
STREAMLIT_OPTIONS = (
    *("--server.port", "{port}", "--server.address", "127.0.0.1", "--server.headless", "true"),
    *("--browser.gatherUsageStats", "false"),
)


def list_programs(python: str) -> list[Program]:
    """List the programs, Waymark first. `python` is the one that has the peers' packages."""
    streamlit, gradio = str(APPS / "streamlit_chat.py"), str(APPS / "gradio_chat.py")
    return [
        WAYMARK_APP,
        Program(
            BARE,
            (sys.executable, str(APPS / "bare_page.py")),
            Places("textarea", "main p", "main .assistant"),
            stores=False,
        ),
        Program(DASH, (sys.executable, str(APPS / "empty_dash.py")), Places("h1", "h1", "h1"), talks=False, stores=False),
        Program(
            STREAMLIT,
            (python, "-m", "streamlit", "run", streamlit, *STREAMLIT_OPTIONS),
            Places(
                'textarea[data-testid="stChatInputTextArea"]:enabled',
                '[data-testid="stChatMessageContent"]',
                '[aria-label="Chat message from assistant"]',
            ),
            health="/_stcore/health",
        ),
        Program(
            GRADIO,
            (python, gradio),
            Places(
                'textarea[data-testid="textbox"]:enabled',
                '[data-testid="user"], [data-testid="bot"]',
                '[data-testid="bot"]',
            ),
        ),
    ]


@dataclass
class Running:
    """A program that runs. `paths` are the addresses of stored conversations, by their names."""

    program: Program
    server: Server
    paths: Mapping[str, str]
    state: StorageState | None = None

    @property
    def name(self) -> str:
        return self.program.name

    @property
    def is_waymark(self) -> bool:
        return self.program is WAYMARK_APP

    @contextmanager
    def open(self, browser: Browser, conversation: str = "") -> Iterator[tuple[Page, CDPSession]]:
        """Open a stored conversation, or a new one, in a new browser context, and close it in the end."""
        path = self.paths[conversation] if conversation else "/"
        end = end_of(conversation) if conversation else ""
        address = f"{self.server.address}{path}"
        context, page, session = open_page(browser, self.state, address, self.program.places, end=end)
        try:
            yield page, session
        finally:
            context.close()

    def settle(self, page: Page, milliseconds: float, *, stored: bool) -> None:
        """Wait until one can type, until a stored conversation is shown, and so many milliseconds."""
        page.evaluate("probe.usable")
        if stored:
            page.locator(self.program.places.message).last.wait_for()
        page.wait_for_timeout(milliseconds)

    def write(self, page: Page, text: str) -> None:
        """Put a text into the field, with the focus in it."""
        composer = page.locator(self.program.places.composer).first
        composer.fill(text)
        composer.focus()
