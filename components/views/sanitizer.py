"""The allow-list for the HTML of texts. Nothing in it runs or loads anything."""

import nh3

from components.views.directions import DIRECTED_TAGS
from components.views.formulas import STYLE_CLASSES

URL_SCHEMES = {"http", "https", "mailto"}

_TEXT_TAGS = {"p", "br", "h1", "h2", "h3", "h4", "h5", "h6", "strong", "em", "s", "a", "ul", "ol", "li", "blockquote"}
_OTHER_TAGS = {"hr", "div", "pre", "code", "span", "table", "thead", "tbody", "tr", "th", "td", "sup", "input"}
# The tags are MathML Core, and `menclose`, without links, actions and annotations.
_MATH_TAGS = {
    *("math", "mrow", "mi", "mo", "mn", "mtext", "mspace", "mfrac", "msqrt", "mroot", "mpadded", "mphantom", "mstyle"),
    *("msub", "msup", "msubsup", "munder", "mover", "munderover", "mmultiscripts", "mprescripts"),
    *("mtable", "mtr", "mtd", "menclose", "b", "i"),
}
_MATH_ATTRIBUTES = {
    "math": {"display"},
    "mi": {"mathvariant"},
    "mo": {
        "form",
        "fence",
        "separator",
        "lspace",
        "rspace",
        "stretchy",
        "symmetric",
        "minsize",
        "maxsize",
        "largeop",
        "movablelimits",
    },
    "mspace": {"width", "height", "depth"},
    "mpadded": {"width", "height", "depth", "lspace", "voffset"},
    "mfrac": {"linethickness"},
    "mover": {"accent"},
    "munder": {"accentunder"},
    "munderover": {"accent", "accentunder"},
    "mtable": {"displaystyle", "scriptlevel"},
    "mtd": {"columnspan"},
    "mstyle": {"displaystyle", "scriptlevel"},
    "menclose": {"notation"},
}
_CELL_CLASSES = {"align-left", "align-center", "align-right", "long-cell"}


_CLEANER = nh3.Cleaner(
    tags=_TEXT_TAGS | _OTHER_TAGS | _MATH_TAGS,
    attributes={
        **_MATH_ATTRIBUTES,
        "a": {"href", "title"},
        "div": {"data-language", "data-tex"},
        "span": {"class", "data-tex"},
        "ol": {"start"},
        "li": {"data-footnote"},
        "sup": {"data-footnote"},
        "input": {"checked", "aria-label"},
    },
    tag_attribute_values={tag: {"dir": {"auto", "ltr", "rtl"}} for tag in DIRECTED_TAGS},
    allowed_classes={
        "div": {"code", "formula"},
        "pre": {"plain"},
        "ol": {"footnotes"},
        "li": {"task"},
        "th": _CELL_CLASSES,
        "td": _CELL_CLASSES,
        "mtable": set(STYLE_CLASSES),
        "mtd": set(STYLE_CLASSES),
    },
    set_tag_attribute_values={"a": {"target": "_blank"}, "input": {"type": "checkbox", "disabled": ""}},
    link_rel="noopener noreferrer nofollow",
    url_schemes=URL_SCHEMES,
    url_relative="deny",
)


def clean_html(html: str) -> str:
    return _CLEANER.clean(html)
