/** The keys of the page, in groups. */
import { MODIFIER_KEY } from "../controls/copying.mjs";
import { _ } from "../words/words.mjs";

/** @typedef {[string[], string, string?]} Key  keys, their effect, and the command of the palette that has the same */

/** @type {[string, Key[]][]} */
export const KEY_GROUPS = [
  [
    _("Writing"),
    [
      [["Enter"], _("send")],
      [["Shift", "Enter"], _("begin a new line")],
      [["/"], _("at the beginning of the field: commands and prompts")],
      [["↑"], _("in the empty field: edit your last message")],
      [["Esc", "Esc"], _("in the empty field: choose a place to go back to")],
      [["Shift", "Esc"], _("go to the message field")],
    ],
  ],
  [
    _("Anywhere"),
    [
      [[MODIFIER_KEY, "K"], _("find a message, a place or an action")],
      [
        [MODIFIER_KEY, "F"],
        _("find in a long conversation; press again for the browser's own search"),
        _("Find in this conversation"),
      ],
      [[MODIFIER_KEY, "Shift", "O"], _("begin a new conversation"), _("New conversation")],
      [["Esc"], _("stop the answer, or close what is open")],
      [[MODIFIER_KEY, "S"], _("save a checkpoint"), _("Save checkpoint")],
      [[MODIFIER_KEY, "Alt", "Z"], _("undo the last change"), _("Undo last change")],
      [[MODIFIER_KEY, "Shift", "Alt", "Z"], _("redo it"), _("Redo")],
      [["Alt", "↑"], _("show the checkpoint before"), _("Previous checkpoint")],
      [["Alt", "↓"], _("show the checkpoint after"), _("Next checkpoint")],
      [[MODIFIER_KEY, "B"], _("show or hide the conversations"), _("Show or hide the conversations")],
      [[MODIFIER_KEY, "Alt", "B"], _("show or hide History"), _("Show or hide History")],
      [["F6"], _("go to the next part of the page; with Shift to the one before")],
      [["F2"], _("rename the conversation that has the focus in the list")],
      [["?"], _("show this"), _("Keys")],
    ],
  ],
  [
    _("In History"),
    [
      [["↑", "↓"], _("along a branch")],
      [["←", "→"], _("to another branch")],
      [["n"], _("the next fork")],
      [["r"], _("restore this place")],
      [["b"], _("branch from this place")],
      [["c"], _("compare this place")],
      [["s"], _("switch to the branch of this place")],
    ],
  ],
];

/** Find the keys that do the same as a command of the palette. @param {string} name @returns {string[]|undefined} */
export const findKeys = (name) =>
  KEY_GROUPS.flatMap(([, keys]) => keys).find(([, , command]) => command === name)?.[0];
