"""Environment variables that make libraries trace, log or redirect conversations. Only the settings decide about these."""

import os
from collections.abc import MutableMapping

# LangSmith reads LANGSMITH_ and LANGCHAIN_, as switches for tracing and as the address of its gateway to models. FastAPI,
# and the parts of OpenTelemetry that send traces to Langfuse, read the next two. ANTHROPIC_OPEN_TELEMETRY_ makes Anthropic's
# client put whole messages into its spans. The other variables make clients log whole requests.
PREFIXES = (
    *("LANGSMITH_", "LANGCHAIN_", "OTEL_", "FASTAPI_OTEL_", "ANTHROPIC_OPEN_TELEMETRY_"),
    *("OPENAI_LOG", "ANTHROPIC_LOG", "GROQ_LOG", "TOGETHER_LOG", "MISTRAL_DEBUG", "OPENROUTER_DEBUG", "LANGFUSE_DEBUG"),
)


def remove_tracing_variables(environ: MutableMapping[str, str] = os.environ) -> None:
    for name in [name for name in environ if name.upper().startswith(PREFIXES)]:
        del environ[name]


def switch_off_library_tracing(environ: MutableMapping[str, str] = os.environ) -> None:
    """Remove the variables, and switch LangSmith off for every thread and task. This imports LangSmith.

    LangSmith caches variables that it has read, and the imports read some.
    """
    remove_tracing_variables(environ)
    import langsmith  # noqa: PLC0415  (half of the agent's imports)

    langsmith.configure(enabled=False)
