"""The table of savers in docs/graphs.md: the rows of the longest conversation in GRAPHS.md, as they were measured.

`python -m benchmarks.graphs_table` writes it anew.
"""

import re
from pathlib import Path

_ROOT = Path(__file__).parents[1]
RESULTS = _ROOT / "benchmarks" / "GRAPHS.md"
DOCUMENT = _ROOT / "docs" / "graphs.md"
_BEGIN, _END = "<!-- from benchmarks/GRAPHS.md -->\n\n", "\n<!-- end -->"


def make_table(results: str) -> str:
    """Return the table of the longest conversation that was measured. Its first column names the length once."""
    section = results.partition("\n## Runs of a graph\n")[2].partition("\n## ")[0]
    header, rule, *rows = re.findall(r"^\|.*\|$", section, re.MULTILINE)
    length = max(int(each.replace(",", "")) for each in re.findall(r"^\| ([\d,]+) turns:", section, re.MULTILINE))
    start = f"| {length:,} turns: "
    shown = ["| " + row.removeprefix(start) for row in rows if row.startswith(start)]
    return "\n".join([header.replace("|  |", f"| {length:,} turns |", 1), rule, *shown]) + "\n"


def read_table(document: str) -> str:
    """Return the table that the document shows."""
    return document.partition(_BEGIN)[2].partition(_END)[0]


def write_table() -> None:
    document = DOCUMENT.read_text(encoding="utf-8")
    before, after = document.partition(_BEGIN)[0], document.partition(_END)[2]
    DOCUMENT.write_text(before + _BEGIN + make_table(RESULTS.read_text(encoding="utf-8")) + _END + after, encoding="utf-8")


if __name__ == "__main__":
    write_table()
