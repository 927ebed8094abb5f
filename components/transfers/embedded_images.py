"""The attached files of a document that stands alone: images are in it, other files are named."""

import base64
from html import escape
from typing import Any

from checkpoints import Store
from checkpoints.values import files
from checkpoints.values.files import FilePart
from checkpoints.values.image_header import detect_image_type, read_image_size
from words import _


class EmbeddedImages:
    """The images of one document. `chars` are those of the images in it so far."""

    def __init__(self, store: Store, max_chars: int) -> None:
        self._store = store
        self._max_chars = max_chars
        self.chars = 0

    def write_files(self, content: Any) -> str:
        """Write the files of a message's content."""
        return "".join(self._write_file(part) for part in files.find_file_parts(content))

    def _write_file(self, part: FilePart) -> str:
        name = escape(part["name"])
        if part["type"] != "image":
            return f"<p class='file'>{_('Attached: {name}', name=name)}</p>"
        image = self._write_image(part["file"], name)
        if image is None:
            return f"<p class='file'>{_('Attached: {name} (left out of this file)', name=name)}</p>"
        return f"<figure class='file'>{image}<figcaption>{name}</figcaption></figure>"

    def _write_image(self, file_hash: str, name: str) -> str | None:
        """Return None for an image that is too large, damaged or missing. Its bytes alone decide its type."""
        data = self._store.read_files([file_hash]).get(file_hash, b"")
        media_type, chars = detect_image_type(data), 4 * -(-len(data) // 3)
        if media_type is None or self.chars + chars > self._max_chars:
            return None
        self.chars += chars
        width, height = read_image_size(media_type, data) or (0, 0)
        size = f" width='{width}' height='{height}'" if width and height else ""
        return f"<img src='data:{media_type};base64,{base64.b64encode(data).decode()}' alt='{name}'{size}>"
