"""The page's files: their addresses, the colours of code, and the icons that the page names."""

import re
import shutil
from pathlib import Path

import pytest
from starlette.datastructures import Headers

from server import static_files
from server.headers import hash_script
from server.static_files import build_highlight_css, build_icon_sprite, load_frame, load_inline_scripts, load_page_files
from tests.app_process import ROOT

MAX_FONT_BYTES = 120_000


def _luminance(colour: str) -> float:
    wide = "".join(digit * 2 for digit in colour) if len(colour) == 3 else colour
    parts = [int(wide[at : at + 2], 16) / 255 for at in (0, 2, 4)]
    red, green, blue = [part / 12.92 if part <= 0.03928 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


@pytest.mark.parametrize(("dark", "background"), [(False, "f3f5f5"), (True, "1b1f20")])
def test_every_colour_of_code_can_be_read(dark: bool, background: str) -> None:
    lines = [line for line in build_highlight_css().splitlines() if line.startswith("[data-bs-theme=dark] .code") is dark]
    colours = [re.search(r"color: #([0-9A-Fa-f]{3,6})\b", line) for line in lines]
    assert len(colours) > 10
    for colour in colours:
        if colour:
            low, high = sorted([_luminance(colour[1]), _luminance(background)])
            assert (high + 0.05) / (low + 0.05) >= 4.5, colour.string


def test_every_file_names_its_encoding() -> None:
    texts = {path: file for path, file in load_page_files().files.items() if not path.endswith(".woff2")}
    responses = {path: file.respond(Headers()) for path, file in texts.items()}
    assert [path for path, response in responses.items() if "charset=utf-8" not in response.headers["content-type"]] == []


def test_the_fonts_are_small_and_not_compressed_again() -> None:
    fonts = [file for path, file in load_page_files().files.items() if path.endswith(".woff2")]
    assert sum(len(font.content) for font in fonts) <= MAX_FONT_BYTES
    assert [font.respond(Headers({"accept-encoding": "gzip"})).body for font in fonts] == [font.content for font in fonts]


def test_highlighting_sets_no_background_and_no_frame() -> None:
    assert "background" not in build_highlight_css()
    assert "border" not in build_highlight_css()


def test_every_icon_that_the_page_names_is_in_the_sprite() -> None:
    sprite = set(re.findall(r'<symbol[^>]* id="([^"]+)"', build_icon_sprite()))
    assert "sun" in sprite
    scripts = "".join(path.read_text() for path in (ROOT / "assets" / "modules").rglob("*.mjs"))
    assert set(re.findall(r'\bicon\("([^"]+)"', scripts)) <= sprite
    pages = "".join(path.read_text() for path in (ROOT / "components").rglob("*.py"))
    assert set(re.findall(r'Icon\(name="([^"]+)"', pages)) <= sprite


@pytest.fixture
def assets(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a copy of the assets, which may be changed."""
    copy = tmp_path / "assets"
    shutil.copytree(ROOT / "assets", copy)
    monkeypatch.setattr(static_files, "_ASSETS", copy)
    monkeypatch.setattr(static_files, "_MODULES", copy / "modules")
    return copy


FILES = ("waymark.mjs", "favicon.svg", "modules/controls/icons.mjs", "modules/page/shell.css")


@pytest.mark.parametrize("name", FILES)
def test_a_changed_file_changes_the_addresses(name: str, assets: Path) -> None:
    before = load_page_files().root
    with (assets / name).open("a") as file:
        file.write("\n")
    assert load_page_files.__wrapped__().root != before


@pytest.mark.usefixtures("assets")
def test_a_copy_of_all_files_has_the_same_addresses() -> None:
    assert load_page_files.__wrapped__().root == load_page_files().root


def test_the_files_are_those_of_the_frame_and_of_the_sign_in() -> None:
    of_sign_in = {"forms.js", "sign-in.js", "sign-in.css", "theme.js"}
    fonts = {"fonts/inter-latin.woff2", "fonts/inter-latin-ext.woff2"}
    of_frame = {"waymark.css", "waymark.mjs", "icons.svg", "favicon.svg", "manifest.webmanifest"}
    assert set(load_page_files().files) == of_frame | of_sign_in | fonts


def test_the_inline_scripts_of_the_frame_are_those_whose_hashes_are_allowed() -> None:
    inline = re.findall(r"<script>(.*?)</script>", load_frame(), re.DOTALL)
    assert inline == list(load_inline_scripts().values())
    assert hash_script("") == "'sha256-47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU='"


def test_each_style_sheet_is_in_the_joined_one() -> None:
    joined = load_page_files().files["waymark.css"].content.decode()
    for path in (ROOT / "assets/modules").rglob("*.css"):
        assert path.read_text() in joined, path
