"""The real server as a process: started, stopped, killed and started again on the same data."""

import re
import signal
import threading
from pathlib import Path
from typing import Any

from playwright.sync_api import BrowserContext

from tests.app_process import PATIENCE, AppProcess, read_environment
from tests.page_key import read_page_key

TIPS = ("field", "history", "checkpoint")
LINK = re.compile(r"http://\S+")


class Server:
    """One Waymark. Settings are given by their names in lower case; `folder` holds its data and its log."""

    def __init__(self, folder: Path, **settings: str) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.folder = folder
        self.settings = (
            {"model": "demo", "demo_seconds_per_token": "0.005", "titles": "off"}
            | {"data_dir": str(folder / "data")}
            | settings
        )
        self.port = 0
        self.links: list[str] = []
        self._cookies: Any = []
        self.page_key = ""
        self._process: AppProcess | None = None
        self._reader: threading.Thread | None = None
        self._new_link = threading.Condition()

    @property
    def origin(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def address(self) -> str:
        """The address of the page, without the last slash."""
        return self.origin + self.settings.get("url_prefix", "/")[:-1]

    @property
    def pid(self) -> int:
        assert self._process is not None
        return self._process.pid

    def start(self) -> None:
        """Return when the link has been printed, which is when the page can be opened."""
        seen = len(self.links)
        given = {name.upper(): value for name, value in self.settings.items()}
        environment = read_environment() | given | {"PORT": str(self.port)}
        # In its own folder: a .env of the person who runs the tests must not be read.
        self._process = AppProcess(self.folder, environment, errors=self.folder / "server.log")
        # In a thread, so that the pipe never fills up and blocks the server.
        self._reader = threading.Thread(target=self._read, args=[self._process], daemon=True)
        self._reader.start()
        self.wait_for_link(seen)
        self.port = int(self.links[-1].split(":")[2].split("/")[0])

    def wait_for_link(self, seen: int) -> str:
        """The newest link, once there are more than `seen`."""
        with self._new_link:
            if not self._new_link.wait_for(lambda: len(self.links) > seen, PATIENCE):
                raise TimeoutError(f"no link was printed: {self.log()}")
            return self.links[-1]

    def stop(self) -> None:
        """End it as Ctrl+C would. Idempotent."""
        self._end(signal.SIGTERM)

    def kill(self) -> None:
        """End it as a power cut would (kill -9)."""
        self._end(signal.SIGKILL)

    def restart(self) -> None:
        """On the same port and the same data."""
        self.stop()
        self.start()

    def log(self) -> str:
        path = self.folder / "server.log"
        return path.read_text() if path.exists() else ""

    def sign_in(self, context: BrowserContext, *, is_newcomer: bool = False) -> None:
        """Give a browser the cookie and the key: the first gets them for the link; the others get copies.

        The tips of the first run are read, unless a newcomer sits before it.
        """
        if not self._cookies:
            self.page_key = read_page_key(context.request.get(self.links[-1]).text()) or ""
            self._cookies = context.cookies()
        context.add_cookies(self._cookies)
        prefix = self.settings.get("url_prefix", "/")
        name = "waymark.page-key" + (f":{prefix}" if prefix != "/" else "")
        keep = f"localStorage.setItem('{name}', '{self.page_key}')"
        know = "" if is_newcomer else "".join(f"localStorage.setItem('waymark.tip-{each}-read', 'on');" for each in TIPS)
        context.add_init_script(f"if (location.origin === '{self.origin}') {{ {keep}; {know} }}")

    @property
    def key_header(self) -> dict[str, str]:
        """The header with which the page shows its key."""
        return {"x-waymark-page-key": self.page_key}

    def _read(self, process: AppProcess) -> None:
        with process.stdout as lines:
            for line in lines:
                if link := LINK.search(line):
                    with self._new_link:
                        self.links.append(link[0])
                        self._new_link.notify_all()

    def _end(self, how: signal.Signals) -> None:
        if self._process is None or self._reader is None:
            return
        self._process.send_signal(how)
        try:
            self._process.wait(PATIENCE)
        except TimeoutError:
            self._process.kill()
            self._process.wait(PATIENCE)
            raise
        finally:
            self._reader.join(PATIENCE)
            self._process = self._reader = None
