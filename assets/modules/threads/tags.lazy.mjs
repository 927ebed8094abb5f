/** The dialog of all tags: filter the list by one, rename it, remove it everywhere, bring it back. */
import { buildApi } from "../lib/addresses.mjs";
import { ReadingDialog } from "../lib/dialog.mjs";
import { formatCount } from "../lib/format.mjs";
import { icon } from "../lib/icons.mjs";
import { NameField } from "../lib/name-field.mjs";
import { refreshPanels } from "../lib/panels.mjs";
import { useServerList } from "../lib/server-list.lazy.mjs";
import { loadStyle } from "../lib/style.lazy.mjs";
import { _ } from "../lib/words.mjs";
import { useRenamed } from "./renaming.mjs";

const { createElement: h, useRef, useState } = window.React;

const ADDRESS = buildApi("tags");
const FAILURE_TEXT = _("The tags could not be read or changed. Please try again.");
const MAX_TAG_CHARS = 50; // checkpoints/values/limits.py

loadStyle(new URL("./tags.lazy.css", import.meta.url));

/**
 * @typedef {{id: string, name: string, threads: number, removed: boolean}} CountedTag
 * @param {{onShow: (tag: string) => void, isReader: boolean, onClose: () => void}} props  `isReader`: nothing can be changed
 */
export function TagsDialog({ onShow, isReader, onClose }) {
  const { tags, problem, done, rename, remove, restore } = useTags();
  const changes = isReader ? {} : { onRename: rename, onRemove: remove };
  const show = (tag) => (onClose(), onShow(tag.id));
  return h(
    ReadingDialog,
    { title: _("Tags"), className: "tags-dialog", onClose },
    problem && h("p", { className: "tags-problem", role: "alert" }, problem),
    tags === null
      ? h("p", { className: "quiet", role: "status" }, _("Reading…"))
      : h(TagList, { tags: tags.filter(({ removed }) => !removed), onShow: show, ...changes }),
    !isReader && done &&
      h(
        "p",
        { className: "last-change", role: "status" },
        h("span", null, done.text),
        h(
          "button",
          { type: "button", className: "quiet-button", onClick: done.undo },
          icon("undo"),
          _("Undo"),
        ),
      ),
    !isReader && tags?.some(({ removed }) => removed) &&
      h(RemovedTags, { tags: tags.filter(({ removed }) => removed), onRestore: restore }),
  );
}

/**
 * @typedef {{text: string, tag: CountedTag, action: string, body: object}} Done
 * @type {Done|null} the last change with what takes it back; kept while the page is open
 */
let lastChange = null;

/** Read the tags, and change them. */
function useTags() {
  const { found, problem, change: send } = useServerList(ADDRESS, FAILURE_TEXT);
  const [done, setDone] = useState(lastChange);
  const change = async (tag, action, body, nextDone = /** @type {Done|null} */ (null)) => {
    const outcome = await send(`/${tag.id}/${action}`, body);
    if (!outcome?.reply) return;
    setDone((lastChange = nextDone));
    refreshPanels();
  };
  const restore = (tag) => change(tag, "restore", {});
  const rename = (tag, name) =>
    change(
      tag,
      "rename",
      { name },
      {
        text: _("“{name}” is now “{new_name}”.", { name: tag.name, new_name: name }), tag, action: "rename",
        body: { name: tag.name },
      },
    );
  const remove = (tag) =>
    change(tag, "remove", {}, { text: _("“{name}” was removed.", { name: tag.name }), tag, action: "restore", body: {} });
  const undo = () => change(done.tag, done.action, done.body);
  return { tags: found?.tags ?? null, problem, done: done && { text: done.text, undo }, rename, remove, restore };
}

function TagList({ tags, onShow, onRename, onRemove }) {
  const buttons = useRef(new Map()); // those that rename, by tag
  const [renamedId, setRenamedId] = useRenamed((id) => buttons.current.get(id));
  if (tags.length === 0) return h("p", { className: "quiet" }, _("No conversation has a tag. “Tags” in its menu adds one."));
  const button = (label, name, onClick, ref) =>
    h("button", { type: "button", className: "btn btn-outline-secondary", "aria-label": name, onClick, ref }, label);
  const keep = (tag) => (element) => void buttons.current.set(tag.id, element);
  const field = (tag) => {
    const onDone = (name) => {
      setRenamedId(null);
      if (name !== null) onRename(tag, name);
    };
    return h(NameField, { label: _("Name of the tag"), value: tag.name, maxLength: MAX_TAG_CHARS, onDone });
  };
  const line = (tag) =>
    h(
      "li",
      { key: tag.id, "data-testid": "tag" },
      h(
        "div",
        { className: "tags-text" },
        renamedId === tag.id ? field(tag) : h("p", { dir: "auto" }, tag.name),
        h("p", { className: "quiet" }, formatCount(tag.threads, "conversation")),
      ),
      h(
        "div",
        { className: "tags-buttons" },
        button(_("Show"), _("Show {name}", tag), () => onShow(tag)),
        onRename && button(_("Rename"), _("Rename {name}", tag), () => setRenamedId(tag.id), keep(tag)),
        onRemove && button(_("Remove"), _("Remove {name}", tag), () => onRemove(tag))),
    );
  return h("ul", null, tags.map(line));
}

function RemovedTags({ tags, onRestore }) {
  const line = (tag) =>
    h(
      "li",
      { key: tag.id },
      h("div", { className: "tags-text" }, h("p", { dir: "auto" }, tag.name)),
      h(
        "button",
        {
          type: "button", className: "quiet-button", "aria-label": _("Bring back {name}", { name: tag.name }),
          onClick: () => onRestore(tag),
        },
        _("Bring back"),
      ),
    );
  return h("section", { "aria-label": _("Removed") }, h("h3", null, _("Removed")), h("ul", null, tags.map(line)));
}
