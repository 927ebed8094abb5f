/** A moment, in the time zone of the browser: the server does not know it. */
import { useNow } from "./clock.mjs";
import { formatAge, formatDateTime } from "./format.mjs";

const { createElement: h } = window.React;

/**
 * A Dash component.
 * @param {{data: string, name?: "age"}} props `data` is ISO-8601; with the name "age", it is shown as “5 min ago”
 */
export function Time({ data, name }) {
  const now = useNow();
  const whole = formatDateTime(data);
  return h("time", { dateTime: data, title: whole }, name === "age" ? formatAge(data, now) : whole);
}
