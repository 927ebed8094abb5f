"""The page's own files as the browser gets them: the modules, a single stylesheet, the icons.

Third-party files come from the installed packages: none is copied, none is fetched.
"""

import hashlib
import json
import posixpath
import re
from collections.abc import Mapping
from functools import cache, partial
from graphlib import TopologicalSorter
from importlib.util import find_spec
from pathlib import Path

from pygments.formatters import HtmlFormatter

from server.static_serving import PageFiles, StaticFile
from words import LANGUAGES, SOURCE_LANGUAGE, read_entries

ENTRY = "waymark.mjs"
_IMPORT = re.compile(r'^import (\{ [^}]+ \}) from "([^"]+)";', re.MULTILINE)
_EXPORT = re.compile(r"^export (?=(?:async )?(?:function|const|class) (\w+))", re.MULTILINE)
_ASSETS = Path(__file__).parent.parent / "assets"
_MODULES = _ASSETS / "modules"
# The folders of the browser's modules are in order: a module imports only from its own and earlier folders.
ROOMS = (
    *("words", "browser", "controls", "requests", "state"),
    *("page", "dialogs", "settings", "message", "transcript", "composer", "history", "threads"),
)
_MEDIA_TYPES = {
    "mjs": "text/javascript",
    "js": "text/javascript",
    "css": "text/css",
    "svg": "image/svg+xml; charset=utf-8",
    "webmanifest": "application/manifest+json; charset=utf-8",
    "woff2": "font/woff2",
}
_WORDS = {f"words/{language}.js": language for language in LANGUAGES if language != SOURCE_LANGUAGE}
# Of the two thousand Bootstrap Icons, and of own-icons.svg.
_ICONS = """
    arrow-down arrow-repeat arrow-up bar-chart box-arrow-up-right check-lg chevron-right circle-half clock-history
    copy diamond diamond-fill diagram-2 download eraser exclamation-circle exclamation-triangle filetype-csv gear
    hand-index hand-thumbs-down hand-thumbs-down-fill hand-thumbs-up hand-thumbs-up-fill key keyboard layout-sidebar
    layout-sidebar-reverse layout-split list markdown moon-stars paperclip pencil people person pin-angle
    pin-angle-fill plus-lg redo robot search share shield-check signpost-2 signpost-split sliders stop-circle
    stop-fill sun text-wrap three-dots trash3 undo upload x-lg
"""


def build_bundle(sources: Mapping[str, str]) -> str:
    """Join the entry and its modules, each after its imports. `sources` maps paths in `assets/` to texts."""
    imports: dict[str, list[str]] = {}
    open_paths = [ENTRY]
    while open_paths:
        path = open_paths.pop()
        if path not in imports:
            imports[path] = [_resolve(path, address) for _, address in _IMPORT.findall(sources[path])]
            open_paths.extend(imports[path])
    order = TopologicalSorter(imports).static_order()
    return "\n".join(["const modules = {};", *(_build_part(path, sources[path]) for path in order)])


def _build_part(path: str, source: str) -> str:
    body = _EXPORT.sub("", _link_imports(path, source))
    exports = ", ".join(_EXPORT.findall(source))
    return f'// assets/{path}\nmodules["{path}"] = (() => {{\n{body}\nreturn {{ {exports} }};\n}})();\n'


def _link_imports(path: str, source: str) -> str:
    """Replace each import on its line."""
    return _IMPORT.sub(lambda found: f'const {found[1]} = modules["{_resolve(path, found[2])}"];', source)


def _resolve(path: str, address: str) -> str:
    return posixpath.normpath(posixpath.join(posixpath.dirname(path), address))


def _find_bootstrap() -> Path:
    """Return the folder of Bootstrap's files. Importing its package would run Flask, Jinja and WTForms."""
    package = find_spec("flask_bootstrap")
    assert package, "requirements.txt names Bootstrap-Flask"
    return Path(str(package.origin)).parent / "static" / "bootstrap5"


_BOOTSTRAP = _find_bootstrap()


@cache
def load_inline_scripts() -> dict[str, str]:
    """Read the scripts inside the page's frame, by their names in it."""
    return {name: (_ASSETS / name).read_text(encoding="utf-8") for name in ("theme.js", "first-paint.js")}


@cache
def load_frame() -> str:
    """Read the page's frame, with its scripts. The other places in it are filled for Dash."""
    frame = (_ASSETS / "index.html").read_text(encoding="utf-8")
    for name, script in load_inline_scripts().items():
        frame = frame.replace(f"{{%{name}%}}", script)
    return frame


@cache
def load_page_files() -> PageFiles:
    """Read and build all files, once in a process: a changed file shows after a restart."""
    contents = {path: text.encode() for path, text in _build_texts().items()}
    contents |= {path.relative_to(_ASSETS).as_posix(): path.read_bytes() for path in sorted(_ASSETS.rglob("*.woff2"))}
    hashed = contents | {path: read_entries(language) for path, language in _WORDS.items()}
    whole = b"\0".join(path.encode() + b"\0" + hashed[path] for path in sorted(hashed))
    files = {path: StaticFile.build(content, _MEDIA_TYPES[path.rpartition(".")[2]]) for path, content in contents.items()}
    late = {path: partial(build_words, language) for path, language in _WORDS.items()}
    return PageFiles(hashlib.sha256(whole).hexdigest()[:16], files, late)


def _build_texts() -> dict[str, str]:
    """Build each text by its path."""
    modules = {
        path.relative_to(_ASSETS).as_posix(): path.read_text(encoding="utf-8") for path in sorted(_ASSETS.rglob("*.mjs"))
    }
    return {
        ENTRY: build_bundle(modules),
        "waymark.css": build_stylesheet(),
        "icons.svg": build_icon_sprite(),
        **{
            name: (_ASSETS / name).read_text(encoding="utf-8")
            for name in ("favicon.svg", "forms.js", "manifest.webmanifest", "sign-in.css", "sign-in.js", "theme.js")
        },
    }


@cache
def build_words(language: str) -> StaticFile:
    """Build the browser's part of a catalogue. It is a script, because it must be there before the modules run."""
    from words.catalogues import load_catalogue  # noqa: PLC0415  (Babel, which English does not need)

    texts = json.dumps(load_catalogue(language).list_browser_texts(), ensure_ascii=False)
    return StaticFile.build(f"(window.waymark ??= {{}}).words = {texts};\n".encode(), _MEDIA_TYPES["js"])


def build_stylesheet() -> str:
    """Join Bootstrap, the colours of code, and the panels' styles in a single file: each file costs a cold load some ms."""
    bootstrap = (_BOOTSTRAP / "css" / "bootstrap.min.css").read_text(encoding="utf-8")
    bootstrap = bootstrap.replace("/*# sourceMappingURL=bootstrap.min.css.map */", "")
    return "\n".join([bootstrap, build_highlight_css(), *(path.read_text(encoding="utf-8") for path in _list_styles())])


def build_highlight_css() -> str:
    """Return the rules for highlighted code in light and in dark colours.

    These two styles of pygments have at least 4.5:1 (WCAG AA) in every colour, on #f3f5f5 and on #1b1f20.
    """
    light = _build_colour_rules("xcode", ":root:not([data-bs-theme=dark]) .code")
    return light + _build_colour_rules("lightbulb", "[data-bs-theme=dark] .code")


def _build_colour_rules(style: str, selector: str) -> str:
    """Build the token rules of a style. Its backgrounds and frames are left out, because the page sets them itself."""
    rules = HtmlFormatter(style=style).get_token_style_defs(selector)  # type: ignore[no-untyped-call]
    lines = (re.sub(r"(background-color|border): [^;}]+;? ?", "", rule) for rule in rules)
    return "".join(line + "\n" for line in lines if "{ }" not in line)


def _list_styles() -> list[Path]:
    """List the stylesheets of the folders in order, so a panel's rules come after the common rules."""
    return [
        path
        for room in ROOMS
        for path in sorted((_MODULES / room).glob("*.css"), key=lambda path: (path.stem != "tokens", path.name))
    ]


def build_icon_sprite() -> str:
    """Build a sprite of the page's icons, a selection of the package's two thousand and what the package does not have."""
    names = set(_ICONS.split())
    files = (_BOOTSTRAP / "icons" / "bootstrap-icons.svg", _ASSETS / "own-icons.svg")
    every = "".join(path.read_text(encoding="utf-8") for path in files)
    symbols = re.findall(r'<symbol[^>]* id="([^"]+)".*?</symbol>', every, re.DOTALL)
    whole = re.finditer(r"<symbol.*?</symbol>", every, re.DOTALL)
    chosen = [match.group() for name, match in zip(symbols, whole, strict=True) if name in names]
    return f'<svg xmlns="http://www.w3.org/2000/svg">{"".join(chosen)}</svg>'
