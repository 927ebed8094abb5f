"""Texts that try to run or load something through formulas, footnotes, task lists, tables and code."""

import re
from html.parser import HTMLParser

RUN = "alert(1)"
TAGS = (
    f"<script>{RUN}</script>",
    f"<img src=x onerror={RUN}>",
    f"<svg onload={RUN}>",
    "<iframe src=//elsewhere.example></iframe>",
    "<style>*{display:none}</style>",
    f"<mglyph><style><!--</style><img title='--&gt;&lt;img src=1 onerror={RUN}&gt;'>",
    f"</mtext></math><img src=x onerror={RUN}>",
    f'"><img src=x onerror={RUN}>',
    f"<maction actiontype='statusline#http://elsewhere.example' href='javascript:{RUN}'>x</maction>",
    f"<annotation-xml encoding='text/html'><img src=x onerror={RUN}></annotation-xml>",
)
COMMANDS = (
    rf"\href{{javascript:{RUN}}}{{x}}",
    rf"\url{{javascript:{RUN}}}",
    r"\href{https://elsewhere.example}{x}",
    r"\includegraphics{https://elsewhere.example/x.png}",
    r"\includegraphics[height=1em]{//elsewhere.example/x.png}",
    rf"\htmlData{{onclick={RUN}}}{{x}}",
    r"\htmlStyle{background:url(//elsewhere.example)}{x}",
    r"\htmlClass{modal show}{x}",
    r"\htmlId{transcript}{x}",
    r"\style{position:fixed;inset:0}{x}",
    r"\class{modal}{x}",
    r"\cssId{composer}{x}",
    rf"\unicode{{<img src=x onerror={RUN}>}}",
    rf"\color{{red;background:url(//elsewhere.example)}}x \textcolor{{#\" onclick={RUN}}}{{x}}",
    rf"\begin{{array}}{{c\" onmouseover=\"{RUN}}}x\end{{array}}",
    rf"\begin{{x\" onload=\"{RUN}}}y\end{{x\" onload=\"{RUN}}}",
    rf"\operatorname{{<b onclick={RUN}>x</b>}}",
    rf"\label{{x\" onclick=\"{RUN}}} \ref{{javascript:{RUN}}} \eqref{{\" onclick=\"{RUN}}}",
    rf"\tag{{<img src=x onerror={RUN}>}}",
    r"\def\x{\x\x}\x",
    r"\newcommand{\a}[1]{#1#1}\a{\a{\a{x}}}",
    r"\input{/etc/passwd} \include{x} \write18{touch x} \catcode`\<=13",
    r"\require{html} \require{action} \toggle{a}{b}\endtoggle",
    r"\rule{99999em}{99999em} \hspace{-9999em} \kern-9999em",
)
IN_FORMULAS = (
    *(f"${command}$" for command in COMMANDS),
    *(rf"\[\text{{{tag}}}\]" for tag in TAGS),
    *(f"$x {tag} y$" for tag in TAGS[:4]),
    rf"\begin{{align}}{COMMANDS[0]} &= 1 \tag{{{TAGS[1]}}}\label{{x\" onclick={RUN}}}\end{{align}}",
    f"$$\n{TAGS[0]}",
    rf"\({TAGS[1]}",
    rf'\["{TAGS[7]}\](javascript:{RUN})',
)
IN_BLOCKS = (
    f"[^1]\n\n[^1]: {TAGS[1]}",
    f'[^" onclick={RUN} x="]\n\n[^" onclick={RUN} x="]: x',
    f'[^"onclick={RUN}]\n\n[^"onclick={RUN}]: x',
    f"[^1]\n\n[^1]: [x](javascript:{RUN}) ![x](https://elsewhere.example/x.png)",
    "[^composer]\n\n[^composer]: it takes the id of another element",
    f"[^1]: {TAGS[0]}",
    f"- [x] {TAGS[1]}\n- [ ] [a](javascript:{RUN})",
    f"- [x] <input type=text autofocus onfocus={RUN}>",
    f'- [x" onclick={RUN}] x',
    f"|{TAGS[1]}|[a](javascript:{RUN})|\n|:-:|-:|\n|{TAGS[0]}|![a](https://elsewhere.example/x.png)|",
    f'|a|\n|:-" onclick={RUN}|\n|b|',
    f'```x" onclick="{RUN}\ncode\n```',
    f"```../../{TAGS[1]}\ncode\n```",
    f'```mermaid\ngraph TD\nA[{TAGS[1]}] --> B\nclick A href "javascript:{RUN}"\n```',
    f"مرحبا {TAGS[1]}",
)
HOSTILE_TEXTS = (*IN_FORMULAS, *IN_BLOCKS)
SPREADSHEET_FORMULAS = (
    "=1+1",
    "=cmd /C calc!A0",
    '=HYPERLINK("//elsewhere.example")',
    "+1+1",
    "-2+3+x",
    "@SUM(1)",
    "＝1+1",
    "-x, y",
    "@x;=1+1;y",
    "=x\t=1+1\ty",
    "=x<br>=1+1<br>y",
)

_ACTIVE = {"img", "script", "iframe", "svg", "style", "link", "object", "embed", "video", "audio", "form", "base", "meta"}
_ACTIVE |= {"maction", "annotation-xml", "semantics", "mglyph", "button", "textarea", "dialog"}


class Elements(HTMLParser):
    """The elements of a text in HTML, in order."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.feed(html)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))


def check_harmless(html: str) -> None:
    """Check that nothing in `html` runs, loads, covers or names another part of the page."""
    for tag, attributes in Elements(html).found:
        assert tag not in _ACTIVE
        assert not [name for name in attributes if name.startswith("on") or name in {"src", "style", "srcset", "id", "name"}]
        assert tag == "a" or "href" not in attributes
        assert re.match(r"(https?|mailto):", attributes.get("href") or "https:")
        assert tag != "input" or (attributes["type"], "disabled" in attributes) == ("checkbox", True)
