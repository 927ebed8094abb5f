/** Names and icons for the authors of checkpoints and changes. */
import { _ } from "./words.mjs";
export const AUTHORS = {
  user: { sign: "person", name: _("you") },
  agent: { sign: "robot", name: _("the agent") },
  judge: { sign: "shield-check", name: _("the judge") },
  system: { sign: "gear", name: "Waymark" },
};

/** Name who saved a checkpoint; "" where nobody knows. @returns {string} */
export const nameSaver = ({ created_by: author, saved_by: person }) =>
  author === "user" ? (person === "" ? AUTHORS.user.name : (person ?? "")) : AUTHORS[author].name;
