/** The menu's items about people: the list of them, and the way out. */
import { lazy } from "../lib/lazy.mjs";
import { _ } from "../lib/words.mjs";
import { showDialog } from "../page/keys.mjs";
import { signOut } from "../page/leaving.mjs";

const FAILURE_TEXT = _("The people could not be loaded. Please try again.");
const PeopleDialog = lazy(() => import("./people.lazy.mjs"), "PeopleDialog", FAILURE_TEXT);

export function watchPeople() {
  document.addEventListener("click", (event) => {
    const target = /** @type {Element} */ (event.target);
    if (target.closest?.("#people")) showDialog(PeopleDialog);
    if (target.closest?.("#leave, #sessions-sign-out")) signOut();
  });
}
