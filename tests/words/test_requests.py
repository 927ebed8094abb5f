"""The language of a request."""

import pytest
from starlette.datastructures import Headers

from words.requests import choose_language


@pytest.mark.parametrize(
    ("headers", "language"),
    [
        ({}, "en"),
        ({"accept-language": "de-AT,de;q=0.9,en;q=0.8"}, "de"),
        ({"accept-language": "fr,en;q=0.3,de;q=0.7"}, "de"),
        ({"accept-language": "de;q=0,fr"}, "en"),
        ({"accept-language": "de;q=x, ,*;;"}, "en"),
        ({"accept-language": "de", "cookie": "a=b; waymark_language=en"}, "en"),
        ({"cookie": "waymark_language=../../etc"}, "en"),
        ({"cookie": "waymark_language=en", "waymark-language": "de"}, "de"),
    ],
)
def test_the_page_comes_before_the_choice_and_the_choice_before_the_browser(headers: dict[str, str], language: str) -> None:
    assert choose_language(Headers(headers)) == language
