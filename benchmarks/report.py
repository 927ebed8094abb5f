"""The measurements as one Markdown page."""

from collections.abc import Iterable, Sequence

from benchmarks.measuring import Bar, Report, Section


def markdown(report: Report, where: list[tuple[str, str]]) -> str:
    parts = [
        "# Benchmarks",
        "Made by `make bench`; not edited by hand. Good or bad, as measured.",
        _facts([*where, ("load average while measuring", _load(report))]),
        "## Bars",
        _bars(report.bars),
        *(_section(section) for section in report.sections),
    ]
    return "\n\n".join(parts) + "\n"


def _facts(facts: list[tuple[str, str]]) -> str:
    return "\n".join(f"- {name}: {value}" for name, value in facts)


def _load(report: Report) -> str:
    if not report.loads:
        return "unknown"
    return f"{min(report.loads):.1f} to {max(report.loads):.1f} (the benchmark's own work included)"


def _bars(bars: list[Bar]) -> str:
    rows = [
        (bar.what, f"{bar.measured:,.2f} {bar.unit}", _limit(bar), "met" if bar.met else "**not met**", bar.note)
        for bar in bars
    ]
    return _table(("", "measured", "bar", "", ""), rows)


def _limit(bar: Bar) -> str:
    return f"{'≥' if bar.at_least else '≤'} {bar.limit:g} {bar.unit}"


def _section(section: Section) -> str:
    remarks = "".join(f"\n\n{remark}" for remark in section.remarks)
    return f"## {section.title}\n\n{_table(section.head, section.rows)}{remarks}"


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [head, ("---", *("---:" for _ in head[1:])), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)
