"""The demo model's longer texts, and its invented answers."""

import hashlib

GREETING = "Hello! I am the demo model. No language model stands behind me, but everything around me is real. Try `help`."
DEFAULT = "I am the demo model, so I cannot really answer that. Ask me `what can you do` to see what I can show."
ABILITIES = """\
I am the **demo model**: I work offline, always answer the same way, and make things up where I have to. Try:

- `what is 12 * (3 + 4)?` or several sums at once, and I call the calculator
- `search for red pandas`, and I call the web search if it is set up
- `ask the critic about my plan`, and I ask another agent; `ask the researcher ... and ask the critic ...` asks two at once
- `show me some code`, `how is the weather in Oslo?`, `tell me about stocks`, `give me a long answer`
- `try two ways: tell me about tea; what is 2 * 21?`, and I work on both at once, each on a branch of its own
- `/compact`, and a summary takes the place of what we said

Then **save a checkpoint**, go on, and restore it: the list of what I remember gets shorter, because I only know what is \
still part of the conversation.

For a real model, choose **Connect a model** below the message field, or set `MODEL` and its key."""
CODE = """\
Here is a small function that counts the words of a text:

```python
from collections import Counter


def most_common_words(text: str, count: int = 3) -> list[tuple[str, int]]:
    \"\"\"The most frequent words, regardless of case.\"\"\"
    return Counter(text.lower().split()).most_common(count)


print(most_common_words("to be or not to be"))
```

*I am the demo: I always show this one.*"""
ATTACHED = "\n\nSomething is attached. I am the demo and cannot look at files; a real model can."

LONG = """\
# A conversation you can move through

*I am the demo: this text is always the same. It is long so that you can see how a long answer streams.*

## Why a straight line is not enough

Most chats are a straight line. You write, the answer appears below, and the only direction is down. That works while \
everything goes well. It stops working at the first misunderstanding, because a misunderstanding does not stay where \
it happened. It is read again with every message that follows, and each answer is built a little more firmly on top \
of it. You can explain, correct and insist, but the wrong turn is still there, and the model still reads it.

People who work with long-running agents know this well. After an hour the conversation is full of abandoned plans, \
pasted logs and apologies. The good idea from the beginning is still in there somewhere, but it has to compete with \
everything else. What one wants at that point is not another correction. One wants to be back at the good place, with \
what has been learned in the meantime.

## Messages, paths and heads

Here every message is a node that never changes. It knows which message it follows, and so each message stands at the \
end of a **path** that leads back to the beginning. The conversation is simply the path of the message where you are \
now, and that place is called the **head**. Moving through time means moving the head. Nothing is rewritten, so \
nothing can be damaged by moving.

1. **Save a checkpoint** when something is good. It is a named bookmark on a message and costs next to nothing.
2. **Go on** and try something bold. The bookmark stays where it is.
3. **Restore** the checkpoint if it did not work out. The messages after it are removed.
4. **Undo** if it did work out after all. The exact state comes back, even after a restart.

## Which move for which moment

| You want to | Use | What happens to the future |
|---|---|---|
| return to a good place | restore | is removed, can be undone |
| try two ways side by side | fork | stays, as a branch of its own |
| say something differently | edit | stays, as a sibling |
| get a different answer | regenerate | stays, as a sibling |

None of these is better than the others. Restoring is for mistakes, forking is for curiosity, and editing is for the \
moment when you notice that the question was the problem. All of them can be undone, and that changes how one works: \
what can be undone can be tried.

## When the agent travels

An agent can notice by itself that it has gone astray. With your leave it may go back to an earlier message and take \
a short note along: what it tried, what it learned, and what to do instead. The long detour disappears from its view \
and the lesson stays. The idea fits in a few lines:

```python
def go_back(path: list[str], position: int, note: str) -> list[str]:
    \"\"\"Keep everything up to a message, and carry one note forward.\"\"\"
    if not 0 <= position < len(path) - 1:
        raise ValueError("there is no such message before this one")
    return [*path[: position + 1], f"note from the future: {note}"]
```

The note is marked as a note, the move is listed among the others, and you can undo it like your own. An agent cannot \
delete anything.

## What to try now

Save a checkpoint on this answer and ask me two or three small things. Look at the list of what I remember: it grows \
with each question. Then restore the checkpoint and ask once more. The list is short again, because for me those \
questions were never asked. Undo, and they are back.

That is all there is to it. Time becomes a place you can walk around in, and the way back is always open."""


def invent_weather(text: str) -> str:
    number = int(hashlib.sha256(text.encode("utf-8", "replace")).hexdigest(), 16)
    sky = ("sunny", "cloudy with bright spells", "showery", "clear and windy")[number % 4]
    return f"It is **{sky}** with about **{number % 17 + 9} °C**.\n\n*I am the demo: I made this weather up.*"


def invent_stocks(text: str) -> str:
    number = int(hashlib.sha256(text.encode("utf-8", "replace")).hexdigest(), 16)
    price, change = 40 + number % 400, (number % 61 - 30) / 10
    table = f"| Price | Today |\n|---:|---:|\n| {price}.00 | {change:+.1f} % |"
    return f"{table}\n\n*I am the demo: I made these figures up. Do not trade on them.*"
