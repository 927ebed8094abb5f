"""The values of a graph's channels at a place: as trees, beside those of another place, and their differences in brief."""

from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING
from urllib.parse import urlencode

from fastapi import FastAPI
from starlette.responses import PlainTextResponse, Response

from agent.run.runner import Runner
from agent.settings import ThreadSettings
from checkpoints import MessageNotFoundError, Runs, Store
from checkpoints.values import serde
from checkpoints.values.errors import DamagedStateError
from checkpoints.values.text import shorten_for_model
from checkpoints.values.thread_ids import write_thread_id
from components.places import find_place_end
from components.services import Services
from components.views.channels_view import (
    MAX_NAMED_CHANGES,
    MAX_SHOWN_CHANNELS,
    NO_CHANGES,
    NOT_SET_TEXT,
    ChannelChange,
    ChannelChanges,
    ChannelSide,
    ChannelView,
    Difference,
    StatesView,
    SubgraphView,
)
from components.views.value_tree import (
    MAX_LEVEL_ITEMS,
    TreeBudget,
    build_tree,
    describe_on_line,
    describe_size,
    format_size,
    make_digest,
)
from server.addresses import build_address
from words import _, ngettext, say

if TYPE_CHECKING:
    from checkpoints.langgraph.state_views import Channel

# A larger stored value is not shown as a tree.
MAX_TREE_BYTES = 500_000
# A larger value is described by its size, a smaller value by its content.
MAX_LINE_BYTES = 10_000
# The text of a whole value has at most this length.
MAX_WHOLE_CHARS = 2_000_000
# The sign stands for no second place.
NO_PLACE = "-"


def add_route(server: FastAPI, services: Services) -> None:
    @server.get("/api/threads/{thread_id:thread}/channel")
    async def get_channel(thread_id: str, name: str, place: str = "", namespace: str = "") -> Response:
        """Return the whole value of a channel at a place, as indented JSON."""
        store = services.store
        return PlainTextResponse(await services.read_snapshot(format_channel, store, thread_id, place, name, namespace))


def find_place_state(store: Store, thread_id: str, place: str) -> int | None:
    """Return the id of the state at a place, as comparisons name it; None without a state. Raises `NotFoundError`."""
    kind, _, identifier = place.partition(":")
    if not place:
        return store.get_thread(thread_id).state_id
    end = find_place_end(store, thread_id, place)
    if kind == "checkpoint" and (saved := store.get_checkpoint(thread_id, identifier).state_id) is not None:
        return saved
    if kind == "branch":
        return next(each.state_id for each, _ in store.list_branches(thread_id) if each.id == identifier)
    return store.find_state(thread_id, end)


def describe_states(store: Store, runner: Runner, thread_id: str, place: str, other: str) -> StatesView:
    """Describe the channels at one or two places. Raises `NotFoundError` and `DamagedStateError`."""
    number = find_place_state(store, thread_id, place)
    one = _list_channels(store, thread_id, number)
    two = None if other == NO_PLACE else _list_channels(store, thread_id, find_place_state(store, thread_id, other))
    known = _list_known_channels(store, runner, thread_id)
    writers = _SideWriter(store, thread_id, place), _SideWriter(store, thread_id, other)
    channels, more = _describe_channels(one, two, writers, known)
    subgraphs = _describe_subgraphs(store, thread_id, place, other, writers)
    return StatesView(channels=channels, more=more, subgraphs=subgraphs, has_state=number is not None)


def _describe_channels(
    one: Mapping[str, "Channel"],
    two: Mapping[str, "Channel"] | None,
    writers: "tuple[_SideWriter, _SideWriter]",
    known: Collection[str] | None,
    namespaces: tuple[str, str] = ("", ""),
) -> tuple[list[ChannelView], int]:
    """Describe the channels of one or two states, and count the channels left out."""
    names = sorted(one.keys() | (two or {}).keys())
    channels = [
        ChannelView(
            name=name,
            difference=None if two is None else _find_difference(one.get(name), two.get(name)),
            one=writers[0].describe(one.get(name), namespaces[0]),
            other=writers[1].describe((two or {}).get(name), namespaces[1]),
            is_unknown=known is not None and name not in known,
            lost_kind=next((side[name].lost_kind for side in (one, two or {}) if name in side), ""),
        )
        for name in names[:MAX_SHOWN_CHANNELS]
    ]
    return channels, len(names) - len(channels)


def _describe_subgraphs(
    store: Store, thread_id: str, place: str, other: str, writers: "tuple[_SideWriter, _SideWriter]"
) -> list[SubgraphView]:
    """Describe the subgraphs waiting at one or two places. Subgraphs of two places are paired by name."""
    one = _list_subgraphs(store, thread_id, place)
    two = {} if other == NO_PLACE else _list_subgraphs(store, thread_id, other)
    views = []
    for key in dict.fromkeys([*one, *two]):
        namespaces, numbers = zip(*(side.get(key, ("", None)) for side in (one, two)), strict=True)
        first, second = (_list_channels(store, thread_id, number) for number in numbers)
        sides = (first, None if other == NO_PLACE else second)
        views.append(SubgraphView(name=key[0], channels=_describe_channels(*sides, writers, None, namespaces)[0]))
    return views


def _list_subgraphs(store: Store, thread_id: str, place: str) -> Mapping[tuple[str, int], tuple[str, int]]:
    """Return the namespaces and states of the subgraphs waiting at a place, by name and number among equal names."""
    from checkpoints.langgraph import WaymarkSaver  # noqa: PLC0415  (as below)
    from checkpoints.langgraph.open_subgraphs import list_open_subgraphs  # noqa: PLC0415  (as below)

    run_ids: Sequence[str] = ()
    if not place:
        answers = Runs(store).read_standing_answers(thread_id)
        run_ids = answers.list_rested(WaymarkSaver(store).read_pending_writes(thread_id))
    number = find_place_state(store, thread_id, place)
    found: dict[tuple[str, int], tuple[str, int]] = {}
    for namespace, (path, state) in list_open_subgraphs(store.database, thread_id, number, run_ids=run_ids).items():
        name = " › ".join(path)
        found[name, sum(key[0] == name for key in found)] = namespace, state
    return found


def describe_changes(store: Store, runner: Runner, thread_id: str, before: int | None, after: int | None) -> ChannelChanges:
    """Name the channels that differ between two states. Messages are left out: the page shows them as messages."""
    if before == after:
        return NO_CHANGES
    try:
        return _name_changes(store, thread_id, (before, after), _list_known_channels(store, runner, thread_id))
    except DamagedStateError as error:
        return {**NO_CHANGES, "problem": say(error)}


def _name_changes(
    store: Store, thread_id: str, numbers: Sequence[int | None], known: Collection[str] | None
) -> ChannelChanges:
    sides = [_list_channels(store, thread_id, number) for number in numbers]
    names = sorted(name for name in sides[0].keys() | sides[1].keys() if _differs(sides[0].get(name), sides[1].get(name)))
    changes = [
        _describe_change(store, thread_id, name, *(side.get(name) for side in sides), known=known)
        for name in names[:MAX_NAMED_CHANGES]
    ]
    return ChannelChanges(changes=changes, more=len(names) - len(changes), problem="")


def format_channel(store: Store, thread_id: str, place: str, name: str, namespace: str = "") -> str:
    """Format the whole value of a channel, also in a subgraph. Raises `NotFoundError` and `DamagedStateError`."""
    number = find_place_state(store, thread_id, place)
    if namespace:
        number = dict(_list_subgraphs(store, thread_id, place).values()).get(namespace)
    channel = _list_channels(store, thread_id, number).get(name)
    if channel is None or channel.has_messages:
        raise MessageNotFoundError(name)
    if channel.byte_count > MAX_WHOLE_CHARS:
        return _("({size}: too large to be shown)", size=format_size(channel.byte_count))
    return shorten_for_model(serde.format_indented(_read_channel_value(store, thread_id, channel)), MAX_WHOLE_CHARS)


class _SideWriter:
    """Describe the channels of a place, with a common budget for all their trees."""

    def __init__(self, store: Store, thread_id: str, place: str) -> None:
        self._store = store
        self._thread_id = thread_id
        self._place = place
        self._budget = TreeBudget()

    def describe(self, channel: "Channel | None", namespace: str = "") -> ChannelSide | None:
        if channel is None:
            return None
        if channel.has_messages:
            summary = ngettext("{count:,} message", "{count:,} messages", channel.item_count or 0)
            return ChannelSide(summary=summary, tree=None, address=None)
        of_subgraph = {"namespace": namespace} if namespace else {}
        query = urlencode({"place": self._place, "name": channel.name, **of_subgraph})
        address = build_address(f"/api/threads/{write_thread_id(self._thread_id)}/channel?{query}")
        if channel.byte_count > MAX_TREE_BYTES or self._budget.nodes <= 0:
            summary = _describe_channel_size(self._store, self._thread_id, channel)
            return ChannelSide(summary=summary, tree=None, address=address)
        value = _read_channel_value(self._store, self._thread_id, channel, MAX_LEVEL_ITEMS)
        self._budget.is_cut = False
        tree = build_tree(value, self._budget)
        is_long = (channel.item_count or 0) > MAX_LEVEL_ITEMS
        if is_long:
            # Only the first items were read.
            tree["count"], tree["digest"] = channel.item_count or 0, make_digest(str(channel.identity))
        is_cut = self._budget.is_cut or is_long
        summary = describe_size(value, channel.item_count or 0) if is_long else describe_on_line(value)
        return ChannelSide(summary=summary, tree=tree, address=address if is_cut else None)


def _list_channels(store: Store, thread_id: str, number: int | None) -> Mapping[str, "Channel"]:
    if number is None:
        return {}
    from checkpoints.langgraph.state_views import list_channels  # noqa: PLC0415  (LangGraph: few conversations have states)

    return list_channels(store.database, thread_id, number)


def _read_channel_value(store: Store, thread_id: str, channel: "Channel", max_items: int | None = None) -> object:
    from checkpoints.langgraph.state_views import read_plain_value  # noqa: PLC0415  (as above)

    return read_plain_value(store.database, thread_id, channel, max_items)


def _find_difference(one: "Channel | None", other: "Channel | None") -> Difference:
    if one is None or other is None:
        return "added" if one is None else "removed"
    return "same" if one.identity == other.identity else "changed"


def _differs(one: "Channel | None", other: "Channel | None") -> bool:
    has_messages = any(each is not None and each.has_messages for each in (one, other))
    return not has_messages and _find_difference(one, other) != "same"


def _list_known_channels(store: Store, runner: Runner, thread_id: str) -> Collection[str] | None:
    return runner.list_channels(ThreadSettings.from_thread(store.get_thread(thread_id)).graph)


def _describe_change(
    store: Store,
    thread_id: str,
    name: str,
    one: "Channel | None",
    other: "Channel | None",
    *,
    known: Collection[str] | None,
) -> ChannelChange:
    before, after = (_describe_shortly(store, thread_id, each) for each in (one, other))
    shown = _("{value}, with other content", value=after) if before == after else after
    return ChannelChange(name=name, before=before, after=shown, is_unknown=known is not None and name not in known)


def _describe_shortly(store: Store, thread_id: str, channel: "Channel | None") -> str:
    if channel is None:
        return _(NOT_SET_TEXT)
    if channel.byte_count > MAX_LINE_BYTES:
        return _describe_channel_size(store, thread_id, channel)
    return describe_on_line(_read_channel_value(store, thread_id, channel))


def _describe_channel_size(store: Store, thread_id: str, channel: "Channel") -> str:
    size = format_size(channel.byte_count)
    if channel.item_count is None:
        return size
    return f"{describe_size(_read_channel_value(store, thread_id, channel, 1), channel.item_count)}, {size}"
