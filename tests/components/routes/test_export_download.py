"""A download says in a header which limit of an import it exceeds."""

import asyncio
from pathlib import Path
from urllib.parse import unquote

import pytest

from checkpoints.interchange import import_limits
from components.routes.export_download import EXPORT_FORMATS, WARNING_HEADER
from tests.checkpoints.conversations import talked
from tests.test_app import opened


def read_warnings(folder: Path) -> dict[str, str | None]:
    """Return the warning of each format's download."""

    async def download() -> dict[str, str | None]:
        async with opened(folder / "data", auth="none") as (app, browser):
            address = f"/api/threads/{talked(app.services.store, 'a', 'b')}/export"
            answers = {kind: await browser.get(address, params={"format": kind}) for kind in EXPORT_FORMATS}
            assert {answer.status_code for answer in answers.values()} == {200}
            return {kind: answer.headers.get(WARNING_HEADER) for kind, answer in answers.items()}

    return asyncio.run(download())


def test_only_a_download_that_no_import_takes_has_a_warning(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert set(read_warnings(tmp_path / "small").values()) == {None}
    monkeypatch.setattr(import_limits, "MAX_BRANCHES_AND_CHECKPOINTS", 1)
    warnings = read_warnings(tmp_path / "large")
    assert warnings["markdown"] is warnings["jsonl"] is None
    assert unquote(str(warnings["waymark"])) == (
        "checkpoints are too many: at most 1 branches and checkpoints can be imported."
    )
