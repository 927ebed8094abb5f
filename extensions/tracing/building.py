"""Build the tracer of the settings, and what notes requests for it."""

from functools import partial

from agent.tracing.events import TraceLabels
from agent.tracing.protocol import Tracer
from application.composition.factory import build_prices
from application.extension import ServerPart
from application.settings import Settings, SettingsError
from components.services import Services
from extensions.tracing.request_tracing import trace_requests


def build_request_tracing(settings: Settings, services: Services) -> ServerPart | None:
    """Return what records each request with the tracer; None without a collector."""
    return ServerPart(watch=partial(trace_requests, tracer=services.tracer)) if settings.otlp_endpoint else None


def build_tracer(settings: Settings) -> Tracer | None:
    """Return the receiver of the runs' events: Langfuse, an OpenTelemetry collector, or both; None without either.

    Langfuse's package is only imported if its keys are set, because the import takes 80 ms and 6 MB.
    """
    public, secret, host = settings.langfuse_public_key, settings.langfuse_secret_key, settings.langfuse_host
    headers = {name: value.get_secret_value() for name, value in (settings.otlp_headers or {}).items()}
    if not public and not secret:
        if settings.otlp_endpoint is None:
            return None
        from extensions.tracing.opentelemetry import OpenTelemetryTracer  # noqa: PLC0415  (without Langfuse's package)

        return OpenTelemetryTracer(settings.otlp_endpoint, headers)
    if not public or not secret or not host:
        raise SettingsError("LANGFUSE_PUBLIC_KEY and LANGFUSE_SECRET_KEY must both be set, or neither.")
    from extensions.tracing.langfuse import LangfuseTracer  # noqa: PLC0415

    return LangfuseTracer(
        public_key=public.get_secret_value(),
        secret_key=secret,
        host=host,
        prompt_label=settings.langfuse_prompt_label,
        mask=settings.langfuse_mask == "on",
        labels=TraceLabels(
            environment=settings.langfuse_tracing_environment,
            release=settings.langfuse_release,
            user=settings.langfuse_user,
            tags=settings.langfuse_tags or (),
        ),
        prices=build_prices(settings),
        endpoint=settings.otlp_endpoint,
        headers=headers,
    )
