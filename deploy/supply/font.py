# /// script
# requires-python = ">=3.11"
# dependencies = ["fontpkg-inter==4.1.post1", "fonttools==4.68.0", "brotli==1.2.1"]
# ///
"""Build the page's font files from the package of Inter: `make font`. The files are in the repository.

The first file has the letters of Western Europe, for every page. The second has the letters of the rest of Europe, and the
browser loads it when a text has such a letter. Both are variable in weight.
"""

import re
from importlib.resources import files
from io import BytesIO
from pathlib import Path

from fontTools import subset  # type: ignore[import-not-found]  # of the script's own packages, like the next two
from fontTools.ttLib import TTFont  # type: ignore[import-not-found]
from fontTools.varLib import instancer  # type: ignore[import-not-found]

ASSETS = Path(__file__).parents[2] / "assets"
# It names the files and their letters.
STYLE_SHEET = ASSETS / "modules" / "lib" / "font.css"
PACKAGE = files("fontpkg_inter")
WEIGHTS = (400, 700)
# It is the optical size of the page's text, not of its headings.
TEXT_SIZE = 14
FEATURES = ["ccmp", "locl", "kern", "mark", "mkmk", "tnum", "case"]
_FILE = re.compile(r'url\("(fonts/[^"]+)"\).*?unicode-range: ([^;]+);', re.DOTALL)


def read_font() -> BytesIO:
    """Return the font with its weight as the only axis."""
    whole = BytesIO()
    with (PACKAGE / "files" / "Inter[opsz,wght].ttf").open("rb") as source:
        instancer.instantiateVariableFont(TTFont(source, recalcTimestamp=False), {"opsz": TEXT_SIZE, "wght": WEIGHTS}).save(
            whole
        )
    return whole


def build_font(path: Path, ranges: str, source: BytesIO) -> None:
    options = subset.Options(layout_features=FEATURES, flavor="woff2", hinting=False)
    font = TTFont(source, recalcTimestamp=False)
    subsetter = subset.Subsetter(options)
    subsetter.populate(unicodes=subset.parse_unicodes(re.sub(r"U\+|\s", "", ranges)))
    subsetter.subset(font)
    subset.save_font(font, str(path), options)


if __name__ == "__main__":
    whole_font = read_font()
    for name, ranges in _FILE.findall(STYLE_SHEET.read_text(encoding="utf-8")):
        build_font(ASSETS / name, ranges, whole_font)
    (ASSETS / "fonts" / "LICENSE.txt").write_bytes((PACKAGE / "LICENSE").read_bytes())
