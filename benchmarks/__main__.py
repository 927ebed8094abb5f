"""`python -m benchmarks`: measures everything and writes benchmarks/RESULTS.md."""

import argparse
import signal
import sys
import tempfile
from pathlib import Path

from agent.tracing.environment import switch_off_library_tracing
from benchmarks import beside, graphs, history, limits, machine, page, people, search, states, streams, wire
from benchmarks.measuring import Report
from benchmarks.peers import comparison
from benchmarks.report import markdown

RESULTS = Path(__file__).parent / "RESULTS.md"


MEASURES = {
    "page": page.measure,
    "peers": comparison.measure,
    "streams": streams.measure,
    "wire": wire.measure,
    "beside": beside.measure,
    "limits": limits.measure,
    "states": states.measure,
    "history": history.measure,
    "graphs": graphs.measure,
    "search": search.measure,
    "people": people.measure,
}


def parse_arguments(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("--states", action="store_true", help="only the states")
    parser.add_argument("--history", action="store_true", help="only the history on both databases")
    parser.add_argument("--graphs", action="store_true", help="only runs of LangGraph's graphs")
    parser.add_argument("--search", action="store_true", help="only the search over a million messages")
    parser.add_argument("--people", action="store_true", help="only one person among a thousand")
    parser.add_argument("--page", action="store_true", help="only the page")
    parser.add_argument("--peers", action="store_true", help="only the page beside its peers, which are installed first")
    parser.add_argument("--streams", action="store_true", help="only conversations that stream at once")
    parser.add_argument("--wire", action="store_true", help="only runs that are followed at another process")
    parser.add_argument("--beside", action="store_true", help="only conversations that stream beside a burden")
    parser.add_argument("--limits", action="store_true", help="only the dearest documents that are accepted")
    parser.add_argument("--quick", action="store_true", help="fewer runs, and nothing that takes minutes")
    parser.add_argument("--out", type=Path, default=RESULTS, metavar="FILE", help="where the table goes")
    return parser.parse_args(arguments)


def main(arguments: list[str]) -> int:
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # so that the started servers end as well
    chosen = parse_arguments(arguments)
    switch_off_library_tracing()  # its work would be measured as well
    report = Report()
    commit = machine.read_commit()  # now: each part changes the table
    names = [name for name in MEASURES if getattr(chosen, name)] or list(MEASURES)
    text = ""
    with tempfile.TemporaryDirectory(prefix="waymark-benchmarks-") as folder:
        for name in names:
            MEASURES[name](report, Path(folder), quick=chosen.quick)
            text = markdown(report, machine.described(commit, report.browser_version))
            chosen.out.write_text(text, encoding="utf-8")  # each time, so that a failure loses one part alone
    print(text)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
