"""The start of the server is nearly all imports: packages that it does not need are not among them."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent


@pytest.fixture(scope="module")
def packages() -> set[str]:
    """The packages and modules that `import app` loads, in a process of its own."""
    code = "import app, json, sys; print(json.dumps(list(sys.modules)))"
    child = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    return set(json.loads(child.stdout))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("package", "reason"),
    [
        ("psycopg", "only a database of PostgreSQL needs its driver"),
        ("sqlalchemy.dialects.postgresql", "only a database of PostgreSQL needs its dialect"),
        ("flask_bootstrap", "only its files are served"),
        ("flask", "it comes with flask_bootstrap"),
        ("jinja2", "it comes with flask_bootstrap"),
        ("wtforms", "it comes with flask_bootstrap"),
    ],
)
def test_the_start_does_not_import(package: str, reason: str, packages: set[str]) -> None:
    assert package not in packages, reason
