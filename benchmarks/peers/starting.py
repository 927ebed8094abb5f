"""Starting the programs: from the command until the server answers, and its memory when nobody has come."""

import time
from pathlib import Path

from benchmarks.peers.programs import Program
from benchmarks.peers.table import Table

START, IDLE = "start to ready", "idle memory"
STORED_START, STORED_IDLE = f"{START}, 10,000 messages stored", f"{IDLE}, 10,000 messages stored"
SETTLING = 5.0  # seconds before memory is measured


def measure_starts(
    table: Table, programs: list[Program], folder: Path, data: Path, settings: dict[str, str], runs: int
) -> None:
    """Start each program in a new folder, and Waymark (the first) on stored conversations as well."""
    cases = [(START, IDLE, program, None) for program in programs] + [(STORED_START, STORED_IDLE, programs[0], data)]
    with table.watch([START, STORED_START], "s"), table.watch([IDLE, STORED_IDLE], "MiB"):
        for run in range(runs):
            for start, idle, program, stored in cases:
                with program.start(stored or folder / f"{program.name}-{run}", settings) as server:
                    table.add(start, program.name, server.ready_seconds)
                    if run == 0:
                        time.sleep(SETTLING)
                        table.add(idle, program.name, server.memory())
