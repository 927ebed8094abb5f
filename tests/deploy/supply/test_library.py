"""The library that `pip install .` gives: built here, and used where nothing else of the repository can be imported."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.deploy.supply.wheel import ROOT, unpack_wheel

pytestmark = pytest.mark.slow

EXAMPLES = {  # what each example of the library's README prints in its block, and the packages of the extra that it needs
    "waymark_checkpoints import": ("print(len(state['messages']), len(manager.list_checkpoints()))", "2 2\n", ()),
    "waymark_checkpoints.langgraph import": (
        "print([message.text for message in state['messages']])",
        "['Hi.', 'Hello!']\n",
        ("langgraph",),
    ),
}
BLOCK_THE_REPOSITORY = """
import sys
extra = set()
class Refuse:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in {"checkpoints", "agent", "components", "server", "dash", "fastapi", "langgraph"} - extra:
            raise ImportError(f"{name} is not what the library requires")
sys.meta_path.insert(0, Refuse())
"""


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the unpacked wheel."""
    return unpack_wheel(tmp_path_factory.mktemp("wheel"))


@pytest.mark.parametrize("words", EXAMPLES)
def test_the_readme_of_the_library_runs_without_the_repository(installed: Path, tmp_path: Path, words: str) -> None:
    examples = re.findall(r"```python\n(.*?)```", (ROOT / "checkpoints" / "README.md").read_text(), re.DOTALL)
    (example,) = (each for each in examples if words in each)
    last_line, printed, extra = EXAMPLES[words]
    script = tmp_path / "program.py"
    script.write_text(f"{BLOCK_THE_REPOSITORY}\nextra.update({extra})\n{example}    {last_line}\n")
    ran = subprocess.run(
        [sys.executable, "-W", "error", script],
        cwd=tmp_path,
        env={"PYTHONPATH": str(installed)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (ran.stderr, ran.stdout) == ("", printed)


def test_the_wheel_holds_one_package_with_its_types_and_migrations(installed: Path) -> None:
    assert {path.name for path in installed.iterdir() if not path.name.endswith(".dist-info")} == {"waymark_checkpoints"}
    package, source = installed / "waymark_checkpoints", ROOT / "checkpoints"
    assert (package / "py.typed").exists()
    assert {path.relative_to(package) for path in package.rglob("*.py")} == {
        path.relative_to(source) for path in source.rglob("*.py") if path.parent.name != "people"
    }


def test_the_migrations_need_no_other_package_name(installed: Path, tmp_path: Path) -> None:
    """The migrations run in a module of Alembic's, which knows no package."""
    script = tmp_path / "program.py"
    script.write_text(
        f"{BLOCK_THE_REPOSITORY}\n"
        "import sqlalchemy as sa\n"
        "from waymark_checkpoints.storage.migrations import run_migrations\n"
        "engine = sa.create_engine('sqlite:///new.sqlite')\n"
        "run_migrations(engine)\n"
        "print(sa.inspect(engine).has_table('message'))\n"
    )
    ran = subprocess.run(
        [sys.executable, script],
        cwd=tmp_path,
        env={"PYTHONPATH": str(installed)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (ran.stderr, ran.stdout) == ("", "True\n")
