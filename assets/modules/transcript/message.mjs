/** One message of the transcript. */
import { AttachedFiles, ExcerptOrigin } from "../message/attachments.mjs";
import { FoldableProse } from "../message/foldable-prose.mjs";
import { Summary, Removal } from "../message/summary.mjs";
import { Tools } from "../message/tool-card.mjs";
import { _ } from "../words/words.mjs";
import { Editor } from "./editing.mjs";
import { MessageFoot } from "./message-foot.mjs";
import { Reasoning } from "./reasoning.mjs";

const { createElement: h, memo } = window.React;

const SPEAKER_LABELS = { user: _("You said"), assistant: _("The agent said"), note: _("Note") };

/** Say whose words these are. @param {{role: string, person: string}} message `person`: the name of another person */
export const describeSpeaker = ({ role, person }) => (person ? _("{person} said", { person }) : SPEAKER_LABELS[role]);

/**
 * @param {{message: import("../state/types.mjs").MessageView, announce: (text: string) => void, act: Function,
 *   onEdit: Function, editing: import("./editing.mjs").Editing|null, isLast: boolean, isUnanswered: boolean,
 *   modelName: string|null, isReadOnly?: boolean, isReader?: boolean}} props
 */
function MessageArticle({ editing, ...of }) {
  const { message, act, isLast, isReadOnly } = of;
  const { id, role, state, html, files, summary, left, reasoning, excerpt } = message;
  const label = [message.person, message.label].filter(Boolean).join(" · ");
  const change = isReadOnly ? null : act;
  const hasFoot = role !== "note" && (html !== "" || files.length > 0 || message.siblings.length > 1);
  return h(
    "article",
    {
      className: `message message-${role}`, "aria-label": describeSpeaker(message), "data-testid": "message",
      "data-role": role, "data-state": state, "data-message-id": id,
    },
    label !== "" && h("p", { className: "note-label" }, label),
    reasoning && h(Reasoning, { reasoning }),
    editing ? h(Editor, { editing, isLast }) : html !== "" && !summary && h(FoldableProse, { message }),
    summary && h(Summary, { message, summary, act: change }),
    left && h(Removal, { left, act: change }),
    excerpt && h(ExcerptOrigin, { excerpt }),
    files.length > 0 && h(AttachedFiles, { files }),
    h(Tools, { message, act }),
    hasFoot && !editing && h(MessageFoot, of),
  );
}

/** Callbacks deliver every message as a new object. Only a message with other content is rendered again. */
const isSameMessage = ({ message: shown, ...before }, { message, ...after }) =>
  Object.entries(before).every(([name, value]) => after[name] === value) &&
  (shown === message || JSON.stringify(shown) === JSON.stringify(message));

export const Message = memo(MessageArticle, isSameMessage);
