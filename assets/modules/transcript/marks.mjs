/** The checkpoints at a message: a diamond with a name beside it; where there is no margin, above it or below a question. */
import { icon } from "../controls/icons.mjs";
import { Menu } from "../controls/menu.mjs";
import { openCheckpoint } from "../state/history-requests.mjs";
import { _ } from "../words/words.mjs";

const { createElement: h, memo, useState } = window.React;

/** @param {{marks: import("../state/types.mjs").MarksView, isBelow: boolean}} props */
function MessageMarks({ marks: { checkpoints, more }, isBelow }) {
  const [isOpen, setOpen] = useState(false);
  const [{ id, name: first, created_by: author }] = checkpoints;
  const hidden = checkpoints.length - 1 + more;
  const kind = author === "judge" ? "milestone" : author === "agent" ? "agent" : "own";
  const shown = kind === "milestone" ? _("Milestone {name}", { name: first }) : _("Checkpoint {name}", { name: first });
  const name = hidden > 0 ? _("{shown} and {hidden} more", { shown, hidden }) : shown;
  const opening = hidden > 0
    ? { "aria-haspopup": "menu", "aria-expanded": isOpen, onClick: () => setOpen(true) }
    : { onClick: () => openCheckpoint(id) };
  const look = { className: `mark mark-${kind}`, "data-testid": "mark", "aria-label": name, title: name };
  return h(
    "div",
    { className: `marks${isBelow ? " marks-below" : ""}` },
    h("button", { type: "button", ...look, ...opening },
      h("span", { className: "mark-text" },
        h("span", { className: "mark-name" }, first),
        hidden > 0 && h("span", { className: "mark-more" }, ` +${hidden}`),
      ),
      icon(kind === "milestone" ? "diamond" : "diamond-fill"),
    ),
    isOpen &&
      h(Menu, {
        name: _("Checkpoints"), items: checkpoints.map((each) => [each.name, () => openCheckpoint(each.id)]),
        onClose: () => setOpen(false),
      }),
  );
}

const isSame = (before, after) =>
  before.marks === after.marks || JSON.stringify(before.marks) === JSON.stringify(after.marks);

export const Marks = memo(MessageMarks, isSame);
