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
  const hooks = {
    "data-testid": "message",
    "data-role": message.role,
    "data-state": message.state,
    "data-message-id": message.id,
  };
  const label = [message.person, message.label].filter(Boolean).join(" · ");
  const change = isReadOnly ? null : act;
  const hasFoot =
    message.role !== "note" && (message.html !== "" || message.files.length > 0 || message.siblings.length > 1);
  return h(
    "article",
    { className: `message message-${message.role}`, "aria-label": describeSpeaker(message), ...hooks },
    label !== "" && h("p", { className: "note-label" }, label),
    message.reasoning && h(Reasoning, { reasoning: message.reasoning }),
    editing ? h(Editor, { editing, isLast }) : message.html !== "" && !message.summary && h(FoldableProse, { message }),
    message.summary && h(Summary, { message, act: change }),
    message.left && h(Removal, { message, act: change }),
    message.excerpt && h(ExcerptOrigin, { excerpt: message.excerpt }),
    message.files.length > 0 && h(AttachedFiles, { files: message.files }),
    h(Tools, { message, act }),
    hasFoot && !editing && h(MessageFoot, of),
  );
}

/** Callbacks deliver every message as a new object. Only a message with other content is rendered again. */
const isSameMessage = (before, after) =>
  before.editing === after.editing &&
  before.act === after.act &&
  before.isLast === after.isLast &&
  before.isUnanswered === after.isUnanswered &&
  before.modelName === after.modelName &&
  before.isReadOnly === after.isReadOnly &&
  before.isReader === after.isReader &&
  (before.message === after.message || JSON.stringify(before.message) === JSON.stringify(after.message));

export const Message = memo(MessageArticle, isSameMessage);
