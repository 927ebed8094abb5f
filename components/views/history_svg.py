"""History as a picture for a document: branches, checkpoints and moves of a conversation, in the page's layout.

assets/modules/history/layout.mjs describes the rules: parents before children, no crossing edges, and a summary below the
end of its replaced messages.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from typing import Final, Literal

from checkpoints.interchange.readable import ReadableBranch, ReadableCheckpoint, ReadableConversation, ReadableMove
from checkpoints.tree_reader import Fork
from checkpoints.values.operation import OperationKind
from checkpoints.values.text import shorten_line
from words import _, ngettext

ROW_HEIGHT = 24
LANE_WIDTH = 16
# More lanes move closer together.
MAX_LANES_WIDTH = 240
TEXT_WIDTH = 420
MAX_LABEL_CHARS = 60
# A place is a segment, and the number of messages up to the place.
Place = tuple[int | None, int]
# A line is of the current path, of the messages that its summaries replaced, or of any other path.
Line = Literal["current", "replaced", "other"]
ROOT: Place = (None, 0)
# The author decides the kind; all other authors make a "checkpoint".
_CHECKPOINT_KINDS: Final = {"judge": "milestone", "agent": "agent-checkpoint"}
_CHECKPOINTS: Final = ("checkpoint", *_CHECKPOINT_KINDS.values())
# The line with the highest rank continues a lane.
_RANKS: Final[dict[Line, int]] = {"other": 0, "replaced": 1, "current": 2}


@dataclass(frozen=True, slots=True)
class Label:
    """A branch, a checkpoint or a move at a place. `anchor` is the document's element for the place, if there is one."""

    # It is "checkpoint", "milestone", "agent-checkpoint", "move", "summary", "branch" or "here".
    kind: str
    text: str
    anchor: str = ""


@dataclass(eq=False)
class _Node:
    place: Place
    labels: list[Label] = field(default_factory=list)
    parent: "_Node | None" = None
    children: "list[_Node]" = field(default_factory=list)
    line: Line = "other"
    # For a summary, this is the node before it on the path. Its `parent` is then the end of the replaced messages.
    after: "_Node | None" = None
    size: int = 1


@dataclass(frozen=True, slots=True)
class Row:
    lane: int
    # The label is None for a fork, and for the beginning.
    label: Label | None
    # This branch ends with the checkpoint.
    end: Label | None
    # The row with this index is joined to this row from above.
    above: int | None
    line: Line
    # The line to the row above is of this kind.
    edge: Line


def list_labels(
    conversation: ReadableConversation, anchors: Mapping[int, str], message_anchors: Mapping[tuple[int, int], str]
) -> list[tuple[Place, Label]]:
    """Return the moves, checkpoints and branches by their places.

    `anchors` names the anchors of checkpoints by their index, and `message_anchors` those of messages by segment and depth.
    """
    moves = [_label_move(each, message_anchors.get(each.node.place, "")) for each in conversation.moves]
    found = [
        ((each.node.segment, each.node.depth + 1), _label_checkpoint(each, anchors.get(number, "")))
        for number, each in enumerate(conversation.checkpoints)
    ]
    ordered = sorted(conversation.branches, key=lambda branch: branch.is_current)
    return [*moves, *found, *(_label_branch(branch) for branch in ordered)]


def list_summaries(conversation: ReadableConversation) -> list[tuple[Place, Place]]:
    """Return the place of each summary, and the end of its replaced messages."""
    known = [(each.node, each.replaced) for each in conversation.moves if each.replaced]
    return [((node.segment, node.depth + 1), (end.segment, end.depth + 1)) for node, end in known]


def _label_move(move: ReadableMove, anchor: str) -> tuple[Place, Label]:
    place = move.node.segment, move.node.depth + 1
    if move.kind is OperationKind.COMPACT:
        return place, Label(
            "summary", ngettext("Summary of {count:,} message", "Summary of {count:,} messages", move.messages), anchor
        )
    text = _("Agent went back") if move.kind is OperationKind.GOTO else _("Agent replaced an answer")
    removed = ngettext("{count:,} message removed", "{count:,} messages removed", move.messages)
    return place, Label("move", f"{text} · {removed}" if move.messages else text, anchor)


def _label_checkpoint(checkpoint: ReadableCheckpoint, anchor: str) -> Label:
    return Label(_CHECKPOINT_KINDS.get(checkpoint.created_by, "checkpoint"), checkpoint.name, anchor)


def _label_branch(branch: ReadableBranch) -> tuple[Place, Label]:
    place = (branch.head.segment, branch.head.depth + 1) if branch.head else ROOT
    return place, Label("here" if branch.is_current else "branch", branch.name)


def lay_out(
    labels: Sequence[tuple[Place, Label]],
    forks: Mapping[int, Fork | None],
    summaries: Sequence[tuple[Place, Place]] = (),
) -> list[Row]:
    """Return the rows of the tree, parents first. `summaries` are the places of some labels, as in `list_summaries`."""
    nodes = {ROOT: _Node(ROOT)}
    for place, label in labels:
        nodes.setdefault(place, _Node(place)).labels.append(label)
    for _place, end in summaries:
        nodes.setdefault(end, _Node(end))
    _join(nodes, forks)
    for place, end in summaries:
        _move_below(nodes[place], nodes[end])
    _mark_lines(nodes)
    for node in list(nodes.values()):
        _drop_if_bare(node)
    _measure(nodes[ROOT])
    return _emit(nodes[ROOT])


def _join(nodes: dict[Place, _Node], forks: Mapping[int, Fork | None]) -> None:
    """Add the forks above the places, and set each parent: the place before it on its segment, or the fork."""
    waiting, seen = [segment for segment, _ in nodes if segment is not None], set[int]()
    while waiting:
        segment = waiting.pop()
        fork = forks.get(segment)
        if segment not in seen and fork is not None:
            nodes.setdefault((fork.segment, fork.length), _Node((fork.segment, fork.length)))
            waiting.append(fork.segment)
        seen.add(segment)
    before: _Node | None = None
    for node in sorted((each for each in nodes.values() if each.place != ROOT), key=lambda each: _sort_key(each.place)):
        if before is not None and before.place[0] == node.place[0]:
            node.parent = before
        else:
            fork = forks.get(node.place[0]) if node.place[0] is not None else None
            node.parent = nodes[(fork.segment, fork.length) if fork else ROOT]
        node.parent.children.append(node)
        before = node


def _sort_key(place: Place) -> tuple[int, int]:
    return place[0] or 0, place[1]


def _move_below(summary: _Node, end: _Node) -> None:
    """Put a summary below the end of its replaced messages."""
    above: _Node | None = end
    while above is not None:
        if above is summary:
            return
        above = above.parent
    if summary.parent is None or summary.after is not None:
        return
    summary.after = summary.parent
    summary.parent.children.remove(summary)
    summary.parent = end
    end.children.append(summary)


def _mark_lines(nodes: Mapping[Place, _Node]) -> None:
    """Mark the path to the current position, and the replaced messages of its summaries."""
    node = next((each for each in nodes.values() if any(label.kind == "here" for label in each.labels)), None)
    # Above a summary's replaced messages, the path continues at this node.
    after: _Node | None = None
    while node is not None:
        if node is after:
            after = None
        node.line = "current" if after is None else "replaced"
        after = node.after if after is None else after
        node = node.parent


def _drop_if_bare(node: _Node) -> None:
    """Take a node without a label out of the tree, unless it is a fork."""
    if node.parent is None or node.labels or len(node.children) > 1:
        return
    place = node.parent.children.index(node)
    node.parent.children[place : place + 1] = node.children
    for child in node.children:
        child.parent = node.parent


def _measure(root: _Node) -> None:
    """Count the rows below each node. Sort the child to continue its lane, the current or largest, to the end."""
    order = [root]
    for node in order:
        order += node.children
    for node in reversed(order):
        node.size = 1 + sum(child.size for child in node.children)
        node.children.sort(key=lambda child: (_RANKS[child.line], child.size, _sort_key(child.place)))


def _emit(root: _Node) -> list[Row]:
    rows: list[Row] = []
    waiting: list[tuple[_Node, int, int | None]] = [(root, 0, None)]
    while waiting:
        node, lane, above = waiting.pop()
        checkpoint, end = _find_fold(node)
        edge: Line = "replaced" if node.after and node.line == "current" else node.line
        for label in [each for each in node.labels if each is not end] or (None,):
            rows.append(Row(lane, label, end if label is checkpoint else None, above, node.line, edge))
            above, edge = len(rows) - 1, node.line
        last = len(node.children) - 1
        waiting += [
            (child, lane if place == last else lane + 1, above) for place, child in reversed(list(enumerate(node.children)))
        ]
    return rows


def _find_fold(node: _Node) -> tuple[Label | None, Label | None]:
    """Return a checkpoint and a branch's end for a shared row, as on the page."""
    checkpoint = next((each for each in reversed(node.labels) if each.kind in _CHECKPOINTS), None)
    ends = [each for each in node.labels if each.kind in ("here", "branch")]
    here = next((each for each in ends if each.kind == "here"), None)
    end = here or (ends[0] if len(ends) == 1 and node.line != "current" else None)
    return (checkpoint, end) if checkpoint and end else (None, None)


def draw(rows: Sequence[Row]) -> str:
    """Draw rows as SVG without styles, scripts or references to anything outside of the document."""
    lanes = max((row.lane for row in rows), default=0)
    step = min(LANE_WIDTH, MAX_LANES_WIDTH / lanes) if lanes else LANE_WIDTH
    text_x = 15 + (lanes + 1) * step
    size = f'width="{text_x + TEXT_WIDTH:g}" height="{len(rows) * ROW_HEIGHT}"'
    name = escape(_("History"))
    parts = [f'<svg class="history" role="group" aria-label="{name}" {size}>']
    for number, row in enumerate(rows):
        if row.above is not None:
            parts.append(_draw_edge(row, rows[row.above], number, step))
            if row.label and row.label.kind == "move":
                parts.append(_draw_move(row, rows[row.above], number, step))
    parts += [_draw_row(row, number, 15 + row.lane * step, text_x) for number, row in enumerate(rows)]
    return "".join([*parts, "</svg>"])


def _draw_edge(row: Row, above: Row, number: int, step: float) -> str:
    """Draw the line from a row to the row above it: down its lane, and then over to the other lane."""
    start_x, x = 15 + above.lane * step, 15 + row.lane * step
    start, y = ((row.above or 0) + 0.5) * ROW_HEIGHT, (number + 0.5) * ROW_HEIGHT
    bend = "" if start_x == x else f"V{y - ROW_HEIGHT:g}C{start_x:g} {y - 8:g} {x:g} {y - 18:g} {x:g} {y:g}"
    return f'<path class="line-{row.edge}" d="M{start_x:g} {start:g}{bend or f"V{y:g}"}"/>'


def _draw_move(row: Row, above: Row, number: int, step: float) -> str:
    """Draw the step back of a move, beside the lane."""
    start_x, x = 15 + above.lane * step, 15 + row.lane * step
    start, y = ((row.above or 0) + 0.5) * ROW_HEIGHT, (number + 0.5) * ROW_HEIGHT
    return f'<path class="line-move" d="M{start_x:g} {start:g}C{start_x - 15:g} {start:g} {x - 15:g} {y:g} {x:g} {y:g}"/>'


def _draw_row(row: Row, number: int, x: float, text_x: float) -> str:
    drawn = _draw_place(row, (number + 0.5) * ROW_HEIGHT, x, text_x)
    return f'<g class="at-replaced">{drawn}</g>' if row.line == "replaced" else drawn


def _draw_place(row: Row, y: float, x: float, text_x: float) -> str:
    if row.label is None:
        return f'<circle class="mark-fork" cx="{x:g}" cy="{y:g}" r="3"/>'
    kind = row.label.kind
    mark = f'<circle class="mark-{kind}" cx="{x:g}" cy="{y:g}" r="4.5"/>'
    if kind in _CHECKPOINTS:
        mark = f'<path class="mark-{kind}" d="M{x:g} {y - 6.5:g}l6.5 6.5-6.5 6.5-6.5-6.5z"/>'
    if row.end and row.end.kind == "here":
        mark += f'<path class="mark-halo" d="M{x:g} {y - 11:g}l11 11-11 11-11-11z"/>'
    names = [escape(shorten_line(each.text, MAX_LABEL_CHARS)) for each in (row.label, row.end) if each]
    here = [escape(_("you are here"))] if "here" in (kind, row.end and row.end.kind) else []
    text = f'<text x="{text_x:g}" y="{y + 4:g}">{" · ".join([*names, *here])}</text>'
    return mark + (f'<a href="#{escape(row.label.anchor)}">{text}</a>' if row.label.anchor else text)
