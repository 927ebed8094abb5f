"""The language of a request: the page's own, else the person's choice, else the browser's."""

from collections.abc import Iterable, Iterator

from starlette.datastructures import Headers

from words import LANGUAGES, SOURCE_LANGUAGE

# assets/modules/settings/browser-options.mjs writes this cookie.
COOKIE = "waymark_language"
# The page's requests are answered in its language, whatever was chosen since.
HEADER = "waymark-language"
MAX_HEADER_CHARS = 1_000


def choose_language(headers: Headers) -> str:
    chosen = [headers.get(HEADER, ""), *_list_cookie_values(headers)]
    wanted = (*chosen, *_list_accepted(headers.get("accept-language", "")[:MAX_HEADER_CHARS]))
    return next((found for tag in wanted if (found := tag.partition("-")[0].lower()) in LANGUAGES), SOURCE_LANGUAGE)


def _list_cookie_values(headers: Headers) -> Iterator[str]:
    pairs = (pair.strip().partition("=") for line in headers.getlist("cookie") for pair in line.split(";"))
    return (value for name, _, value in pairs if name == COOKIE)


def _list_accepted(header: str) -> Iterable[str]:
    """List the languages of an Accept-Language header, the most wanted first."""
    weighed = []
    for part in header.split(","):
        tag, _, weight = part.strip().partition(";q=")
        try:
            weighed.append((float(weight or 1), tag))
        except ValueError:
            continue
    return [tag for weight, tag in sorted(weighed, key=lambda each: -each[0]) if weight > 0]
