"""User graphs: LangGraph graphs of other people. They run in this process, with its rights, on threads of their own."""

from application.extension import Extension
from extensions.graphs.loading import list_graph_names, load_graphs

EXTENSION = Extension(name="graphs", load_graphs=load_graphs, list_graph_names=list_graph_names)
