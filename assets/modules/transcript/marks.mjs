/** The checkpoints at a message: a diamond with a name beside it; where there is no margin, above it or below a question. */
import { icon } from "../controls/icons.mjs";
import { Menu } from "../controls/menu.mjs";
import { openCheckpoint } from "../state/history-requests.mjs";
import { _ } from "../words/words.mjs";

const { createElement: h, memo, useState } = window.React;

/** @param {{marks: import("../state/types.mjs").MarksView, isBelow: boolean}} props */
function MessageMarks({ marks: { checkpoints, more }, isBelow }) {
  const [isOpen, setOpen] = useState(false);
  const [first, ...others] = checkpoints;
  const hidden = others.length + more;
  const items = checkpoints.map(({ id, name }) => [name, () => openCheckpoint(id)]);
  const author = first.created_by === "judge" ? "milestone" : first.created_by === "agent" ? "agent" : "own";
  const shown =
    author === "milestone" ? _("Milestone {name}", { name: first.name }) : _("Checkpoint {name}", { name: first.name });
  const name = hidden > 0 ? _("{shown} and {hidden} more", { shown, hidden }) : shown;
  const menu = hidden > 0 ? { "aria-haspopup": "menu", "aria-expanded": isOpen } : {};
  return h(
    "div",
    { className: `marks${isBelow ? " marks-below" : ""}` },
    h(
      "button",
      {
        type: "button",
        className: `mark mark-${author}`,
        "data-testid": "mark",
        "aria-label": name,
        title: name,
        ...menu,
        onClick: () => (hidden > 0 ? setOpen(true) : openCheckpoint(first.id)),
      },
      h(
        "span",
        { className: "mark-text" },
        h("span", { className: "mark-name" }, first.name),
        hidden > 0 && h("span", { className: "mark-more" }, ` +${hidden}`),
      ),
      icon(author === "milestone" ? "diamond" : "diamond-fill"),
    ),
    isOpen && h(Menu, { name: _("Checkpoints"), items, onClose: () => setOpen(false) }),
  );
}

const isSame = (before, after) =>
  before.marks === after.marks || JSON.stringify(before.marks) === JSON.stringify(after.marks);

export const Marks = memo(MessageMarks, isSame);
