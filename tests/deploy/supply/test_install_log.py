"""A failed installation is explained in a sentence that is true."""

import pytest

from deploy.supply.install_log import UNREACHABLE, explain_failure

BROKEN = "WARNING: Retrying (Retry(total=4)) after connection broken by 'NewConnectionError(…)': /simple/alembic/\n"
MISSING = (
    "ERROR: Could not find a version (from versions: none)\nERROR: No matching distribution found for alembic==1.20.1\n"
)
WRONG = (
    "ERROR: THESE PACKAGES DO NOT MATCH THE HASHES FROM THE REQUIREMENTS FILE.\n"
    "    alembic==1.20.1 from http://m/a.whl (from x):\n"
)
STALLED = "Traceback (most recent call last):\npip._vendor.urllib3.exceptions.ReadTimeoutError: Read timed out.\n"
FULL = "ERROR: Could not install packages due to an OSError: [Errno 28] No space left on device\n"


@pytest.mark.parametrize(
    ("log", "sentence"),
    [
        (BROKEN + MISSING, UNREACHABLE),
        (STALLED, UNREACHABLE),
        (MISSING, "The package registry does not offer alembic==1.20.1 to this machine"),
        (BROKEN + WRONG, "alembic==1.20.1 from http://m/a.whl is not the file that is pinned. It was not installed."),
        (FULL, FULL),
        (BROKEN + FULL, FULL),
    ],
    ids=["no network", "stalled", "refused", "wrong file after a retry", "full disk", "full disk after a retry"],
)
def test_the_reason_is_the_last_failure_and_not_an_earlier_warning(log: str, sentence: str) -> None:
    assert sentence in explain_failure(log)
