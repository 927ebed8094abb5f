"""The reason of a failed installation, from pip's log: `python deploy/supply/install_log.py LOG`.

When the registry does not answer, pip speaks of conflicting dependencies, or of a missing version. Nothing is installed yet
when this runs, so it imports only Python's own library.
"""

import re
import sys
from pathlib import Path

UNREACHABLE = (
    "The package registry cannot be reached. Waymark is installed from it once: connect to the network and run make again."
)
_WRONG_FILE = re.compile(r"DO NOT MATCH THE HASHES.*?\n\s+(?P<pin>\S+) from (?P<address>\S+)", re.DOTALL)
_MISSING_PIN = re.compile(r"No matching distribution found for (?P<pin>\S+)|ResolutionImpossible|conflicting dependencies")
_NETWORK_ERROR = re.compile(r"Max retries exceeded|(?:Timeout|Connection|Protocol|SSL|NameResolution)Error")
_RETRY = re.compile(r"^WARNING: Retrying .* after connection broken .*$", re.MULTILINE)


def explain_failure(log: str) -> str:
    """Return a sentence, or pip's own words if they are true. A successful retry is no reason."""
    errors = _RETRY.sub("", log)
    if found := _WRONG_FILE.search(errors):
        return f"{found['pin']} from {found['address']} is not the file that is pinned. It was not installed.\n{log}"
    missing = _MISSING_PIN.search(errors)
    if _NETWORK_ERROR.search(errors) or (missing and errors != log):
        return UNREACHABLE
    if missing and missing["pin"]:
        return (
            f"The package registry does not offer {missing['pin']} to this machine, or cannot be reached from this network."
        )
    return log


if __name__ == "__main__":
    print(explain_failure(Path(sys.argv[1]).read_text(encoding="utf-8", errors="replace")).rstrip())
