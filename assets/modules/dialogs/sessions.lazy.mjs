/** The sessions: which browsers are signed in, and their ends. */
import { useNow } from "../lib/clock.mjs";
import { ReadingDialog } from "../lib/dialog.lazy.mjs";
import { formatAge, formatDateTime } from "../lib/format.mjs";
import { useServerList } from "../lib/server-list.lazy.mjs";
import { loadStyle } from "../lib/style.lazy.mjs";
import { _ } from "../lib/words.mjs";
import { leave } from "../page/leaving.mjs";

const { createElement: h } = window.React;

const ADDRESS = "/api/sessions";
const UNREADABLE_TEXT = _("The sessions cannot be read right now.");
const NOT_ENDED_TEXT = _("The server does not answer. Nothing was done; please try again.");

loadStyle(new URL("./sessions.lazy.css", import.meta.url));

/**
 * @typedef {{id: string, browser: string, signed_in_at: number, seen_at: number, is_current: boolean}} Session  times in
 *   seconds
 */

/** @param {{onClose: () => void}} props */
export function SessionsDialog({ onClose }) {
  const { sessions, problem, end, endOthers, signOut } = useSessions();
  const hasOthers = sessions?.some((session) => !session.is_current);
  const buttons =
    hasOthers &&
    h("button", { type: "button", className: "btn btn-outline-danger", onClick: endOthers }, _("Sign all others out"));
  return h(
    ReadingDialog,
    { title: _("Sessions"), className: "sessions", buttons, onClose },
    problem && h("p", { className: "text-danger", role: "alert" }, problem),
    sessions?.length === 0 && h("p", null, _("Waymark keeps no sessions here: it signs nobody in itself.")),
    h(
      "ul",
      null,
      sessions?.map((session) =>
        h(SessionLine, {
          key: session.id, session, onEnd: session.is_current ? () => signOut(session) : () => end(session),
        }),
      ),
    ),
    sessions?.length > 0 &&
      h("p", { className: "quiet" }, _("A session ends after a week without use, and 30 days after it began.")),
  );
}

/** @param {{session: Session, onEnd: () => void}} props */
function SessionLine({ session, onEnd }) {
  const now = useNow();
  const [signedIn, seen] = [session.signed_in_at, session.seen_at].map((seconds) => new Date(seconds * 1000).toISOString());
  return h(
    "li",
    { "data-testid": "session" },
    h(
      "div",
      null,
      h("p", null, session.browser, session.is_current && h("strong", null, _(" · This browser"))),
      h(
        "p",
        { className: "quiet" },
        _("Signed in "),
        h("time", { dateTime: signedIn }, formatDateTime(signedIn)),
        _(", last seen "),
        h("time", { dateTime: seen, title: formatDateTime(seen) }, formatAge(seen, now)),
      ),
    ),
    h(
      "button",
      {
        type: "button", className: "btn btn-outline-secondary", onClick: onEnd,
        "aria-label": session.is_current ? undefined : _("End {browser}", { browser: session.browser }),
      },
      session.is_current ? _("Sign out") : _("End"),
    ),
  );
}

/** Read the sessions, and end them. */
function useSessions() {
  const { found, problem, change } = useServerList(ADDRESS, UNREADABLE_TEXT, { lostText: NOT_ENDED_TEXT });
  const post = async (path) => Boolean((await change(path, {}))?.reply);
  const end = ({ id }) => post(`/${id}/end`);
  const signOut = (session) => leave(() => end(session));
  return { sessions: found?.sessions ?? null, problem, end, endOthers: () => post("/end-others"), signOut };
}
