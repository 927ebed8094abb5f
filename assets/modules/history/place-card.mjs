/** The card of the selected place: its description and figures, and what can be done there. */
import { buildThreadApi } from "../browser/addresses.mjs";
import { iconButton } from "../controls/buttons.mjs";
import { NameField } from "../controls/name-field.mjs";
import { showToast } from "../controls/toast.mjs";
import { fetchWholeText, ShowAll } from "../message/show-all.mjs";
import { useFetch } from "../requests/shown-content.mjs";
import { useNow } from "../words/clock.mjs";
import { AUTHORS, nameSaver, formatAge, formatCount, formatDateTime } from "../words/format.mjs";
import { _ } from "../words/words.mjs";
import { CheckpointForm } from "./checkpoint-form.mjs";
import { describeBranch, nameBranch, nameRow } from "./history-row.mjs";
import { isRemovedCheckpoint, listPlaceActions, REMOVED } from "./place-actions.mjs";
import { DeleteButton, PlaceButtons } from "./place-buttons.mjs";

const { createElement: h, useEffect, useLayoutEffect, useRef, useState } = window.React;

const MAX_BRANCH_NAME_CHARS = 120;

/**
 * @param {{row: import("./layout.mjs").HistoryRow, rows: import("./layout.mjs").HistoryRow[],
 *   data: import("../state/types.mjs").HistoryData, act: Function, onShow: (row: object) => void,
 *   onClose: () => void}} props
 */
export function PlaceCard({ row, rows, data, act, onShow, onClose }) {
  const card = useRef(null);
  const renaming = useRenaming(row, card, act, [...data.checkpoints, ...data.elsewhere]);
  useLayoutEffect(() => { // where the window is low, the pane scrolls
    const pane = card.current.parentElement;
    pane.scrollTop = pane.scrollHeight;
  }, [row.key]);
  const name = nameRow(row, data.branch_count > 1);
  if (renaming.form) return h("div", { className: "place-card", ref: card }, renaming.form);
  const onKeyDown = (event) => {
    if (event.key !== "Escape") return;
    event.preventDefault();
    onClose();
  };
  return h("div", { className: "place-card", ref: card, role: "group", "aria-label": name, onKeyDown },
    h("div", { className: "card-head" },
      h("h3", null, name),
      row.item?.isHere && h("span", { className: "here-label" }, _("you are here")),
      h("span", { className: "card-corner" },
        h(DeleteButton, { row, name, data, act }),
        iconButton("x-lg", _("Close this place"), onClose, { title: _("Close") }),
      ),
    ),
    isRemovedCheckpoint(row, data) && h("p", { className: "card-text" }, REMOVED),
    h(Description, { row }),
    h(Figures, { row }),
    row.kind === "checkpoint" &&
      row.item?.isElsewhere === false &&
      h(PlaceUsage, { thread: data.thread, place: `checkpoint:${row.item.value.id}` }),
    h(PlaceButtons, {
      row, name, data, act, onShow, onRename: renaming.start, actions: listPlaceActions(row, rows, data, act),
    }),
  );
}

/** The form for another name, of the checkpoint or of the branch. Then its button gets the focus, which the form took. */
function useRenaming({ key, item, branch }, card, act, checkpoints) {
  const [renamed, setRenamed] = useState(null); // {kind, name, description}: the description whole
  useEffect(() => setRenamed(null), [key]);
  const close = () => {
    setRenamed(null);
    requestAnimationFrame(() => card.current?.querySelector(".card-more")?.focus());
  };
  const start = async (kind) => {
    if (kind === "branch") return setRenamed({ kind, name: nameBranch(branch) });
    const { name, description: text, more } = item.value;
    const description = await fetchWholeText({ text, more });
    if (description === null) showToast(_("Couldn't load the description."));
    else setRenamed({ kind, name, description });
  };
  const saveCheckpoint = (name, description) => {
    if (name !== renamed.name || description !== renamed.description)
      act("change", { checkpoint: item.value.id, name, description });
    close();
  };
  const saveBranch = (name) => {
    if (name !== null) act("rename-branch", { branch: branch.id, name });
    close();
  };
  if (renamed === null) return { start, form: null };
  const form =
    renamed.kind === "branch"
      ? h(NameField, {
          label: _("Name of the branch"), value: renamed.name, maxLength: MAX_BRANCH_NAME_CHARS, onDone: saveBranch,
        })
      : h(CheckpointForm, {
          title: _("Rename checkpoint"), checkpoint: renamed, onSave: saveCheckpoint, onCancel: close,
          others: checkpoints.filter(({ id }) => id !== item.value.id),
        });
  return { start, form };
}

function Description({ row: { kind, item } }) {
  const value = item?.value;
  if (kind === "removed")
    return h(
      "p",
      { className: "card-text" },
      _("The last restore removed these messages. They stay here until the next message."),
    );
  if (kind !== "checkpoint" || !value.description) return null;
  return h(
    "div",
    { className: "card-description", tabIndex: 0, role: "region", "aria-label": _("About this checkpoint") },
    h("p", { className: "card-text" }, value.description),
    h(ShowAll, { more: value.more }),
  );
}

function Figures({ row: { kind, item, branch, messages } }) {
  const now = useNow();
  const value = item?.value;
  const figures = [branch ? describeBranch(branch) : messages > 0 && formatCount(messages, "message")];
  if (value?.tokens) figures.push(formatCount(value.tokens, "token"));
  if (kind === "move") figures.push(value.figures);
  const saver = kind === "checkpoint" && nameSaver(value);
  return h(
    "p",
    { className: "card-figures" },
    kind === "checkpoint" && branch && h("span", { className: "card-branch" }, nameBranch(branch)),
    figures.filter(Boolean).map((figure) => h("span", { key: figure }, figure)),
    value?.time && h("time", { dateTime: value.time, title: formatDateTime(value.time) }, formatAge(value.time, now)),
    saver &&
      h(
        "span",
        { title: _("Saved by {name}", { name: saver }) },
        saver === AUTHORS.user.name ? _("by you") : _("by {name}", { name: saver }),
      ),
  );
}

const STAYS_AFTER_MS = 150; // keys walk past many places

/**
 * The tokens and the cost of all answers up to a place, by model. Fetched when the selection stays there.
 * @param {{thread: string, place: string}} props
 */
function PlaceUsage({ thread, place }) {
  const [stayed, setStayed] = useState(null);
  useEffect(() => {
    const timer = setTimeout(setStayed, STAYS_AFTER_MS, place);
    return () => clearTimeout(timer);
  }, [place]);
  return stayed === place && h(Usage, { thread, place });
}

function Usage({ thread, place }) {
  const { content } = useFetch(buildThreadApi(thread, "usage", { place }), "");
  if (!content?.parts.length) return null;
  return h(
    "p",
    { className: "card-figures", "data-testid": "place-usage" },
    content.parts.map(({ text, title }) => h("span", { key: text, title }, text)),
  );
}
