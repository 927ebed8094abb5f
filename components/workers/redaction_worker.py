"""The process that redacts the words of an export. It reads batches of messages from its parent and ends with it.

Its time and memory are limited. The kernel ends it, because SIGPROF has no handler. It yields to the server.
"""

import json
import os
import resource
import signal
import sys
from multiprocessing.connection import Connection
from typing import Any

from checkpoints.interchange.document_redaction import DocumentRedaction
from checkpoints.interchange.redaction import Redaction
from checkpoints.values.errors import ExportTooLargeError
from checkpoints.values.sentence import Sentence, sentence

NICENESS = 10
MAX_MEMORY_BYTES = 1_000_000_000


def main(handle: int) -> None:
    os.nice(NICENESS)
    _, allowed = resource.getrlimit(resource.RLIMIT_DATA)
    limit = MAX_MEMORY_BYTES if allowed == resource.RLIM_INFINITY else min(MAX_MEMORY_BYTES, allowed)
    resource.setrlimit(resource.RLIMIT_DATA, (limit, allowed))
    with Connection(handle) as parent:
        try:
            _redact_batches(parent)
        except (EOFError, OSError):
            # The server has ended, or needs no more.
            return


def _redact_batches(parent: Connection) -> None:
    seconds, tool_results, patterns, files = _receive(parent)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    redacted = DocumentRedaction(Redaction(tool_results, tuple(patterns), files))
    _send(parent, None)
    while True:
        kind, content = _receive(parent)
        try:
            answer = (
                [redacted.redact_message(each) for each in content] if kind == "messages" else redacted.redact_frame(content)
            )
        except ExportTooLargeError as error:
            text = str(error)
            refusal = text if isinstance(text, Sentence) else sentence(text)
            _send(parent, {"refused": [refusal.template, refusal.plural, refusal.values]})
            return
        _send(parent, {"redacted": answer})


def _receive(parent: Connection) -> Any:
    return json.loads(parent.recv_bytes())


def _send(parent: Connection, answer: Any) -> None:
    parent.send_bytes(json.dumps(answer).encode())


if __name__ == "__main__":
    main(int(sys.argv[1]))
