"""Parts of a message's content that a file may carry: texts, attached files, and images with their bytes.

A part that a file cannot carry becomes a line of text in an export. Nothing of an import names an address that could be
fetched.
"""

import binascii
from typing import Any

from ..values import files
from ..values.errors import InvalidFileError
from ..values.model import Json

OMITTED_IMAGES = "images_left_out"  # key in response_metadata; its value is their number
TEXT_PART_TYPES = (
    "text",
    "output_text",
    "refusal",
    "thinking",
    "redacted_thinking",
    "reasoning",
    "reasoning_content",
    "tool_use",
)


def is_portable(part: Any, message_type: str) -> bool:
    """Return whether a file may carry a part: a text, an attached file of a user, or an image with its bytes."""
    if isinstance(part, str) or (isinstance(part, dict) and part.get("type") in TEXT_PART_TYPES):
        return True
    return (files.is_file_part(part) and message_type == "human") or _is_whole_image(part)


def _is_whole_image(part: Any) -> bool:
    """Return whether a part is an image in one of LangChain's forms, with bytes that are one."""
    match part:
        case {"type": "image_url", "image_url": {"url": str() as url, **others}, **further} if not (others or further):
            media_type, _, data = url.removeprefix("data:").partition(";base64,")
        case {"type": "image", "base64": str() as data, "mime_type": str() as media_type, **further} if not further:
            pass
        case {
            "type": "image",
            "source_type": "base64",
            "data": str() as data,
            "mime_type": str() as media_type,
            **further,
        } if not further:
            pass
        case {"type": "image", "source": {"type": "base64", "media_type": str() as media_type, "data": str() as data}}:
            if len(part) > 2 or len(part["source"]) > 3:
                return False
        case _:
            return False
    try:
        image = files.parse_file("image", files.decode_base64(data))
    except (InvalidFileError, binascii.Error, ValueError):
        return False
    return image.media_type == media_type and media_type in files.IMAGE_TYPES


def replace_parts(data: Json, message_type: str) -> Json:
    """Return a message's data with a line of text for each part that no file carries."""
    content = data.get("content")
    if not isinstance(content, list) or all(is_portable(part, message_type) for part in content):
        return data
    images, parts = 0, []
    for part in content:
        if is_portable(part, message_type):
            parts.append(part)
            continue
        kind = part.get("type") if isinstance(part, dict) else None
        is_image = isinstance(kind, str) and "image" in kind
        images += is_image
        parts.append({"type": "text", "text": "[left out: an image]" if is_image else "[left out: a part of another kind]"})
    metadata = {**(data.get("response_metadata") or {}), **({OMITTED_IMAGES: images} if images else {})}
    return {**data, "content": parts, **({"response_metadata": metadata} if metadata else {})}
