"""Reads text files in one folder, page by page: only regular files, only below the folder.

The path is opened name by name from the folder's own handle, without following links. So no other process can replace a
file between the check and the opening.
"""

import os
import stat
from functools import partial
from pathlib import Path, PurePosixPath

from langchain_core.tools import BaseTool, StructuredTool, ToolException

from agent.fence import Fence, clean_text
from agent.tools.invocation import run_on_own_thread

# Limits of one call. The characters are about 10,000 tokens.
MAX_LINES = 400
MAX_PAGE_CHARS = 40_000
MAX_READ_BYTES = 20_000_000
MAX_FOLDER_NAMES = 200
FENCE = Fence("file contents")
_FOLDER_FLAGS = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
# Opening a pipe without a writer must not wait.
_FILE_FLAGS = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


def make_read_file_tool(folder: Path) -> BaseTool:
    """Return the tool `read_file(path, first_line)`. Its failures are ToolExceptions with advice for the model."""

    def read_file(path: str = ".", first_line: int = 1) -> str:
        """Read a text file of the user's folder, or list a folder. Long files come in pages: ask again with first_line.

        path: relative to the folder, such as notes/plan.md; "." lists what is there.
        """
        return read_path(folder, path, first_line)

    async def read_in_thread(path: str = ".", first_line: int = 1) -> str:
        return await run_on_own_thread(partial(read_path, folder, path, first_line))

    return StructuredTool.from_function(read_file, coroutine=read_in_thread)


def read_path(folder: Path, path: str, first_line: int = 1) -> str:
    """Return a page of the file, or the names in the folder, at `path` under `folder`. Raises ToolException."""
    names = [name for name in PurePosixPath(path.strip() or ".").parts if name != "."]
    if path.startswith("/") or ".." in names or "\0" in path:
        raise ToolException("Only paths inside the folder can be read, such as notes/plan.md.")
    if any(_is_hidden(name) for name in names):
        raise ToolException("Names that begin with a dot cannot be read. Choose another file.")
    display_path = "/".join(names) or "."
    try:
        handle = _open_beneath(folder, names)
    except FileNotFoundError:
        raise ToolException(f"There is no {display_path!r}. Read its folder to see the names.") from None
    # The cause is a link, a permission or a long name, which the model need not know.
    except OSError:
        raise ToolException(f"{display_path!r} cannot be read. Choose another file.") from None
    except UnicodeEncodeError:
        raise ToolException("The path holds characters that no name can have. Choose another file.") from None
    try:
        status = os.fstat(handle)
        if stat.S_ISDIR(status.st_mode):
            return FENCE.wrap(_list_folder(handle), f"The folder {display_path}")
        if not stat.S_ISREG(status.st_mode) or status.st_size > MAX_READ_BYTES:
            raise ToolException(f"{display_path!r} is no text file of at most {MAX_READ_BYTES // 1_000_000} MB.")
        return _format_page(display_path, _read_utf8(handle, display_path), first_line)
    finally:
        os.close(handle)


def _open_beneath(folder: Path, names: list[str]) -> int:
    """Return a handle on the file or folder at the end of the names. Each name is opened below the previous handle."""
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        for position, name in enumerate(names):
            is_last = position == len(names) - 1
            following = os.open(name, _FILE_FLAGS if is_last else _FOLDER_FLAGS, dir_fd=handle)
            os.close(handle)
            handle = following
    except BaseException:
        os.close(handle)
        raise
    return handle


def _list_folder(handle: int) -> str:
    with os.scandir(handle) as entries:
        names = sorted(
            f"{entry.name}/" if entry.is_dir(follow_symlinks=False) else entry.name
            for entry in entries
            if not entry.is_symlink() and not _is_hidden(entry.name)
        )
    more = [f"… and {len(names) - MAX_FOLDER_NAMES:,} more"] if len(names) > MAX_FOLDER_NAMES else []
    return "\n".join([*(clean_text(name, keep="\t") for name in names[:MAX_FOLDER_NAMES]), *more]) or "(empty)"


def _is_hidden(name: str) -> bool:
    """Return whether a name is left out. Such files hold keys (.env), tools' data (.git) and other secrets."""
    return name.startswith(".")


def _read_utf8(handle: int, display_path: str) -> str:
    with open(handle, "rb", closefd=False) as file:
        # The file may have grown.
        raw = file.read(MAX_READ_BYTES + 1)
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError:
        text = "\0"
    if "\0" in text or len(raw) > MAX_READ_BYTES:
        raise ToolException(f"{display_path!r} is not UTF-8 text. Choose another file.")
    return text


def _format_page(display_path: str, text: str, first_line: int) -> str:
    lines = text.splitlines()
    first = max(1, first_line)
    if first > max(1, len(lines)):
        raise ToolException(f"{display_path!r} has {len(lines):,} lines. Ask for a first_line in it.")
    page: list[str] = []
    room = MAX_PAGE_CHARS
    for line in lines[first - 1 : first - 1 + MAX_LINES]:
        if page and len(line) > room:
            break
        page.append(line if len(line) <= room else f"{line[:room]}… (the line goes on)")
        room -= len(line)
    last = first + len(page) - 1
    hint = f"; go on with first_line={last + 1}" if last < len(lines) else ""
    return FENCE.wrap("\n".join(page), f"{display_path}, lines {first:,} to {last:,} of {len(lines):,}{hint}")
