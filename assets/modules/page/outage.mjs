/** The banner during an outage. It polls the server and disappears after the recovery. */
import { useActions } from "../lib/actions.mjs";
import { icon } from "../lib/icons.mjs";
import { setProperties } from "../lib/properties.mjs";
import { fetchAsPage } from "../lib/session.mjs";
import { reportLostRequest } from "../lib/tracked-request.mjs";
import { _ } from "../lib/words.mjs";

const { createElement: h, useEffect, useState } = window.React;
const { createPortal } = window.ReactDOM;

const POLL_MS = 2000;

/** @returns {Promise<{status: string, store: string}|null>} null when the server itself does not answer */
async function fetchHealth() {
  try {
    return await (await fetchAsPage("/healthz")).json();
  } catch {
    return null;
  }
}

/** @returns {boolean} whether the banner is shown */
export const isOutageShown = () => document.querySelector(".outage") !== null;

/** Show the banner, until the server says that it has recovered. @param {string} text a sentence */
export const showOutage = (text) => setProperties({ trouble: { data: { text } } });

/** After a lost connection, show the banner if the server does not answer at all. */
export async function showOutageIfUnreachable() {
  if ((await fetchHealth()) === null) showOutage(_("The server does not answer."));
}

/** @param {{id: string, data?: {text: string}, setProps: Function}} props */
export function OutageBanner(props) {
  const act = useActions(props);
  const [text, setText] = useState("");
  useEffect(() => {
    if (!props.data) return;
    setText(props.data.text);
    reportLostRequest();
  }, [props.data]);
  useRecovery(text !== "", setText, act);
  if (text === "") return null;
  const banner = h(
    "div",
    { id: props.id, className: "outage", role: "alert", "data-testid": "trouble" },
    icon("exclamation-circle"),
    h("p", null, _("{text} Your text is kept.", { text })),
  );
  return createPortal(banner, document.getElementById("shell"));
}

/** Poll the server until it has recovered, and show its newest problem. */
function useRecovery(isOut, setText, act) {
  useEffect(() => {
    if (!isOut) return undefined;
    let timer = 0;
    let isUnmounted = false;
    const poll = async () => {
      const answer = await fetchHealth();
      if (isUnmounted) return;
      if (answer?.status === "ok") {
        setText("");
        act("recovered");
        return;
      }
      if (answer?.status === "degraded") setText(answer.store);
      timer = setTimeout(poll, POLL_MS);
    };
    timer = setTimeout(poll, POLL_MS);
    return () => {
      isUnmounted = true;
      clearTimeout(timer);
    };
  }, [isOut, act]);
}
