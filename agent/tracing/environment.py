"""Environment variables by which libraries trace, log or redirect conversations; the settings alone decide."""

import os
from collections.abc import MutableMapping

# LangSmith reads both of the first, as switches for tracing and as the address of its gateway to models; FastAPI and the
# parts of OpenTelemetry that carry traces to Langfuse read the next two; Anthropic's client puts whole messages into its
# spans by the next; the clients of providers and of Langfuse log whole requests by the others.
PREFIXES = (
    *("LANGSMITH_", "LANGCHAIN_", "OTEL_", "FASTAPI_OTEL_", "ANTHROPIC_OPEN_TELEMETRY_"),
    *("OPENAI_LOG", "ANTHROPIC_LOG", "GROQ_LOG", "TOGETHER_LOG", "MISTRAL_DEBUG", "OPENROUTER_DEBUG", "LANGFUSE_DEBUG"),
)


def remove_tracing_variables(environ: MutableMapping[str, str] = os.environ) -> None:
    """Remove the variables from the process's environment."""
    for name in [name for name in environ if name.upper().startswith(PREFIXES)]:
        del environ[name]


def switch_off_library_tracing(environ: MutableMapping[str, str] = os.environ) -> None:
    """Remove the variables, and switch LangSmith off for every thread and task. It is imported for that.

    LangSmith remembers a variable that it has read, and the imports read some.
    """
    remove_tracing_variables(environ)
    import langsmith  # noqa: PLC0415  (half of the agent's imports)

    langsmith.configure(enabled=False)
