"""The text of an answer while it is written."""

import asyncio

import pytest

from components.streams.live_answer import LiveAnswer
from tests.components.parts import open_services


@pytest.mark.parametrize(
    ("agent", "html"),
    [
        ("<scout>", '<p class="live-agent">&lt;scout&gt;</p>'),
        ("\u05d1\u05d5\u05d8", '<p class="live-agent" dir="rtl">\u05d1\u05d5\u05d8</p>'),
    ],
)
def test_the_name_of_an_agent_is_one_paragraph_in_its_direction(agent: str, html: str) -> None:
    async def story() -> str:
        async with open_services() as parts:
            return await LiveAnswer(parts.renderer).begin_text(agent)

    assert asyncio.run(story()) == html
