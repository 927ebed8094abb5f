"""How a conversation is exported: which parts are left out, and who is told of the progress."""

from dataclasses import dataclass

from ..values.model import Json
from ..values.progress import Report, ignore_progress
from .document_redaction import Redact, redact_document
from .redaction import Redaction


@dataclass(frozen=True, slots=True)
class ExportOptions:
    """The options that all formats share. `redact` redacts a document: the server does it in another process."""

    redaction: Redaction | None = None
    report: Report = ignore_progress
    redact: Redact = redact_document

    def apply_redaction(self, document: Json) -> Json:
        """Return a document without the parts to leave out. Raises the errors of `redact`."""
        return self.redact(self.redaction, document, self.report) if self.redaction else document


WHOLE_EXPORT = ExportOptions()
