"""Gradio's ChatInterface, as its guide builds it: the growing answer is yielded, and the browser saves the history."""

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import gradio as gr
from openai import OpenAI

client = OpenAI()


def answer(question: str, history: list[dict[str, Any]]) -> Iterator[str]:
    messages = [{"role": each["role"], "content": _read_text(each["content"])} for each in history]
    messages.append({"role": "user", "content": question})
    written = ""
    for chunk in client.chat.completions.create(model=os.environ["MODEL"], messages=messages, stream=True):
        written += chunk.choices[0].delta.content or ""
        yield written


def _read_text(content: Any) -> str:
    return content if isinstance(content, str) else "".join(part.get("text", "") for part in content)


def open_conversation(request: gr.Request) -> tuple[list[dict[str, str]], list[dict[str, str]]]:
    """Return the stored conversation that the address names, for the page and for the next answer."""
    stored = request.query_params.get("conversation")
    messages = json.loads(Path(os.environ["STORED"], f"{stored}.json").read_text(encoding="utf-8")) if stored else []
    return messages, messages


# By default one answer is written at a time, for all people together.
chat = gr.ChatInterface(answer, save_history=True, concurrency_limit=None)
with chat:
    chat.load(open_conversation, None, [chat.chatbot, chat.chatbot_state])

if __name__ == "__main__":
    chat.launch(server_name="127.0.0.1", server_port=int(os.environ["PORT"]), quiet=True)
