"""How a conversation is exported: the name of its file, which parts are left out, and who is told of the progress."""

import hashlib
import re
from dataclasses import dataclass

from ..values.model import Json
from ..values.progress import Report, ignore_progress
from .document_redaction import Redact, redact_document
from .redaction import Redaction

# File names may have 255 bytes, and a character 4 of them: what is left is for the hash and the ending.
_TITLE_CHARS, _ID_CHARS = 40, 15
_PLAIN_ID = re.compile(r"[0-9a-z_-]{1,40}")


@dataclass(frozen=True, slots=True)
class ExportOptions:
    """The options that all formats share. `redact` redacts a document: the server does it in another process."""

    redaction: Redaction | None = None
    report: Report = ignore_progress
    redact: Redact = redact_document

    def apply_redaction(self, document: Json) -> Json:
        """Return a document without the parts to leave out. Raises the errors of `redact`."""
        return self.redact(self.redaction, document, self.report) if self.redaction else document

    def redact_title(self, title: str) -> str:
        """Return the title for the name of the file, which is redacted like the file."""
        return self.redaction.redact_text(title, replacement="redacted") if self.redaction else title


WHOLE_EXPORT = ExportOptions()


def build_file_name(title: str, ending: str, thread_id: str = "") -> str:
    """Return the name of a file: words of the title, the id where several files are told apart, and the ending.

    A program may have chosen any id. One that is not plain is cut to its words, with a hash of the whole behind them.
    """
    name = _join_words(title, _TITLE_CHARS) or "conversation"
    if thread_id and _PLAIN_ID.fullmatch(thread_id):
        name += f"-{thread_id}"
    elif thread_id:
        hash_ = hashlib.sha256(thread_id.encode(errors="surrogatepass")).hexdigest()[:12]
        name += f"-{_join_words(thread_id, _ID_CHARS)}-{hash_}"
    return f"{name}.{ending}"


def _join_words(text: str, max_chars: int) -> str:
    return re.sub(r"\W+", "-", text).strip("-")[:max_chars]
