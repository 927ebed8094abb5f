"""The text of an answer from any provider. A refusal's words are the answer's text."""

from langchain_core.messages import BaseMessage


def read_answer_text(message: BaseMessage) -> str:
    """Return the text of an answer or of a chunk, including the words of a refusal."""
    if isinstance(message.content, str):
        # Answers without streaming have the refusal here.
        refusal = message.additional_kwargs.get("refusal")
        return message.content or (refusal if isinstance(refusal, str) else "")
    blocks = [block for block in message.content if isinstance(block, dict) and block.get("type") == "refusal"]
    return str(message.text) + "".join(str(block.get("refusal") or "") for block in blocks)
