"""What nodes, reducers and readers change in place: it is stored, and nobody else sees it."""

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage
from langgraph.channels import BinaryOperatorAggregate
from langgraph.graph import START, StateGraph
from langgraph.graph.message import add_messages
from langgraph.pregel import NodeBuilder, Pregel

from checkpoints import Store
from checkpoints.langgraph import WaymarkSaver
from tests.checkpoints.langgraph.graphs import Channels, answer, ask, make_config, make_graph, read_channels


def test_the_holder_of_a_part_sees_no_change_of_a_later_run_and_changes_none(store: Store) -> None:
    graph = make_graph(WaymarkSaver(store))
    ask(graph, "t", "one")
    part = read_channels(graph, "t")["messages"][0].additional_kwargs
    ask(graph, "t", "mark")  # changes the first message in place
    assert part == {}
    part["mine"] = True
    ask(graph, "t", "two")
    assert read_channels(graph, "t")["messages"][0].additional_kwargs == {"marked": 2}


def test_messages_that_their_reader_changed_and_hands_over_as_an_input_are_stored(store: Store) -> None:
    saver = WaymarkSaver(store)
    graph = make_graph(saver)
    ask(graph, "t", "one")
    read = read_channels(graph, "t")["messages"]
    read[0].additional_kwargs["mine"] = True
    graph.invoke({"messages": [*read, HumanMessage("two")]}, make_config("t"), interrupt_before=["answer"])
    assert saver.store.list_messages("t")[0].langchain.additional_kwargs == {"mine": True}


def test_what_a_node_changes_in_place_in_a_first_step_is_stored(memory_store: Store) -> None:
    """A graph without a start of its own: its nodes subscribe to the channel that the input is written to."""

    def read_again(messages: list[BaseMessage]) -> list[BaseMessage]:
        messages[0].additional_kwargs["read"] = len(messages)
        return [AIMessage(str(len(messages)))]

    saver = WaymarkSaver(memory_store)
    node = NodeBuilder().subscribe_only("messages").do(read_again).write_to("messages").build()
    channel = BinaryOperatorAggregate(list, add_messages)
    graph = Pregel(
        nodes={"node": node},
        channels={"messages": channel},
        input_channels="messages",
        output_channels="messages",
        checkpointer=saver,
    )
    for text in ("one", "two"):
        graph.invoke([HumanMessage(text)], make_config("t"), interrupt_after=["node"])
    assert memory_store.list_messages("t")[0].langchain.additional_kwargs == {"read": 3}


def test_what_a_router_changes_in_place_is_stored_with_the_first_message_after_it(store: Store) -> None:
    def route(state: Channels) -> str:
        state["messages"][0].additional_kwargs["routed"] = len(state["messages"])
        return "answer"

    saver = WaymarkSaver(store)
    builder = StateGraph(Channels)
    builder.add_node("answer", answer)
    builder.add_conditional_edges(START, route, ["answer"])
    graph = builder.compile(checkpointer=saver)
    ask(graph, "t", "one")
    ask(graph, "t", "two")
    assert saver.store.list_messages("t")[0].langchain.additional_kwargs == {"routed": 3}
