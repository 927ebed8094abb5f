/** Format times, durations and counts for people, and name authors and models. Pure functions. */
import { _, ngettext } from "./words.mjs";

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
// By hand: the browser's own formats take 40 ms of every page's start to load, and give the same text.
const DAYS = _("Sun Mon Tue Wed Thu Fri Sat").split(" ");
const MONTHS = _("Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec").split(" ");
const POINT = _("1.5")[1];

const pad = (number) => String(number).padStart(2, "0");
const formatDay = (date) => _("{day} {month}", { day: date.getDate(), month: MONTHS[date.getMonth()] });
const formatTimeOfDay = (date) => `${pad(date.getHours())}:${pad(date.getMinutes())}`;
/** Format a moment, ISO-8601; "" without one. */
const formatMoment = (iso, format) => (Number.isNaN(Date.parse(iso)) ? "" : format(new Date(iso)));
/** @returns {string} "1.5" */
export const formatDecimal = (number, places) => number.toFixed(places).replace(".", POINT);

/** @param {string|number|boolean} value @returns {string} */
export const formatValue = (value) => (value === true ? _("yes") : value === false ? _("no") : String(value));

const findStartOfDay = (time) => new Date(time).setHours(0, 0, 0, 0);
/** Count the calendar days between two moments. Rounding absorbs the hour of a summer time change. */
const countDaysBetween = (time, now) => Math.round((findStartOfDay(now) - findStartOfDay(time)) / DAY);

/**
 * @param {string} iso a moment, ISO-8601
 * @param {number} now milliseconds
 * @returns {string} "now", "5 min ago", "3 h ago", "yesterday", "12 Nov"
 */
export function formatAge(iso, now) {
  const age = now - Date.parse(iso);
  if (age >= MINUTE && age < HOUR) return _("{minutes} min ago", { minutes: Math.floor(age / MINUTE) });
  if (age >= HOUR && countDaysBetween(Date.parse(iso), now) < 1)
    return _("{hours} h ago", { hours: Math.floor(age / HOUR) });
  return formatBriefAge(iso, now);
}

/** @returns {string} like formatAge, where there is little room: "now", "5 min", "3 h", "yesterday", "12 Nov" */
export const formatBriefAge = (iso, now) =>
  formatMoment(iso, (date) => {
    const age = now - date.getTime();
    if (age < MINUTE) return _("now");
    if (age < HOUR) return _("{minutes} min", { minutes: Math.floor(age / MINUTE) });
    const days = countDaysBetween(date, now);
    if (days < 1) return _("{hours} h", { hours: Math.floor(age / HOUR) });
    if (days === 1) return _("yesterday");
    const year = date.getFullYear();
    return year === new Date(now).getFullYear() ? formatDay(date) : `${formatDay(date)} ${year}`;
  });

/** @returns {string} a moment in as few letters as possible: "14:05", "Mon", "12 Nov", "2025" */
export const formatShortTime = (iso, now) =>
  formatMoment(iso, (date) => {
    const days = countDaysBetween(date, now);
    if (days < 1) return formatTimeOfDay(date);
    if (days < 7) return DAYS[date.getDay()];
    return date.getFullYear() === new Date(now).getFullYear() ? formatDay(date) : String(date.getFullYear());
  });

/** @returns {string} the heading for threads of that age */
export function nameAgeGroup(iso, now) {
  const days = countDaysBetween(Date.parse(iso), now);
  if (!(days >= 1)) return _("Today");
  if (days === 1) return _("Yesterday");
  return days <= 7 ? _("Last seven days") : _("Earlier");
}

/** @returns {string} the full local date and time, for tooltips */
export const formatDateTime = (iso, hasSeconds = false) =>
  formatMoment(iso, (date) => {
    const seconds = hasSeconds ? `:${pad(date.getSeconds())}` : "";
    return `${formatDay(date)} ${date.getFullYear()}, ${formatTimeOfDay(date)}${seconds}`;
  });

/** @returns {string} the local time of day, "14:05" */
export const formatClockTime = (iso) => formatMoment(iso, formatTimeOfDay);

/** @param {number|null} milliseconds */
export function formatDuration(milliseconds) {
  if (milliseconds === null || milliseconds === undefined) return "";
  if (milliseconds < 1000) return `${Math.round(milliseconds)} ms`;
  if (milliseconds < 9950) return `${formatDecimal(milliseconds / 1000, 1)} s`;
  const seconds = Math.round(milliseconds / 1000);
  return seconds < 60 ? `${seconds} s` : `${Math.floor(seconds / 60)} min ${seconds % 60} s`;
}

/** @returns {string} "12", "3.4k", "61M" */
export function formatNumber(number) {
  if (number < 1000) return String(number);
  const [size, unit] = number < 999_500 ? [number / 1000, _("k")] : [number / 1_000_000, _("M")];
  return `${formatDecimal(size, size < 9.95 ? 1 : 0)}${unit}`;
}

/** @param {number} bytes @returns {string} "850 B", "12 kB", "3.4 MB", "24 GB": as components/views/value_tree.py */
export function formatSize(bytes) {
  if (bytes < 1000) return `${bytes} B`;
  if (bytes < 999_500) return `${Math.round(bytes / 1000)} kB`;
  const [size, unit] = bytes < 999_500_000 ? [bytes / 1_000_000, "MB"] : [bytes / 1_000_000_000, "GB"];
  return `${formatDecimal(size, size < 9.95 ? 1 : 0)} ${unit}`;
}

/** @returns {string} "1 message", "12 messages", "3.4k tokens" */
export const formatCount = (number, noun) => COUNTED[noun](number, { count: formatNumber(number) });

const COUNTED = {
  checkpoint: (number, values) => ngettext("{count} checkpoint", "{count} checkpoints", number, values),
  line: (number, values) => ngettext("{count} line", "{count} lines", number, values),
  message: (number, values) => ngettext("{count} message", "{count} messages", number, values),
  "more message": (number, values) => ngettext("{count} more message", "{count} more messages", number, values),
  question: (number, values) => ngettext("{count} question", "{count} questions", number, values),
  command: (number, values) => ngettext("{count} command", "{count} commands", number, values),
  conversation: (number, values) => ngettext("{count} conversation", "{count} conversations", number, values),
  file: (number, values) => ngettext("{count} file", "{count} files", number, values),
  character: (number, values) => ngettext("{count} character", "{count} characters", number, values),
  input: (number, values) => ngettext("{count} input", "{count} inputs", number, values),
  token: (number, values) => ngettext("{count} token", "{count} tokens", number, values),
};

/** @param {number} dollars @returns {string} "$1.20", "$0.034", "$0.0012" */
export function formatDollars(dollars) {
  if (dollars > 0 && dollars < 0.0001) return _("under $0.0001");
  const places = dollars >= 1 || dollars === 0 ? 2 : dollars >= 0.01 ? 3 : 4;
  return _("${dollars}", { dollars: formatDecimal(dollars, places) });
}

/**
 * @param {import("../state/types.mjs").Tokens} used
 * @returns {string} "1.2k tokens in (1.0k cached), 340 tokens out (120 reasoning)"
 */
export function formatUsage({ input, cached, output, reasoning }) {
  const read = { input: formatCount(input, "token"), cached: formatNumber(cached) };
  const written = { output: formatCount(output, "token"), reasoning: formatNumber(reasoning) };
  return [
    cached > 0 ? _("{input} in ({cached} cached)", read) : _("{input} in", read),
    reasoning > 0 ? _("{output} out ({reasoning} reasoning)", written) : _("{output} out", written),
  ].join(", ");
}

export const AUTHORS = {
  user: { sign: "person", name: _("you") },
  agent: { sign: "robot", name: _("the agent") },
  judge: { sign: "shield-check", name: _("the judge") },
  system: { sign: "gear", name: "Waymark" },
};

/** Name who saved a checkpoint; "" where nobody knows. @returns {string} */
export const nameSaver = ({ created_by: author, saved_by: person }) =>
  author === "user" ? (person === "" ? AUTHORS.user.name : (person ?? "")) : AUTHORS[author].name;

const providers = new Set((document.documentElement.dataset.providers ?? "").split(" "));

/**
 * @param {string} spec
 * @returns {string} "gpt-5" of `openai:gpt-5`; the whole of one without a known provider, as a graph's
 */
export function nameModel(spec) {
  const end = spec.indexOf(":");
  return (providers.has(spec.slice(0, Math.max(end, 0))) && spec.slice(end + 1)) || spec;
}

/** @param {string} spec @param {string[]} specs @returns {string} the short name where no other of `specs` has the same */
export function nameModelAmong(spec, specs) {
  const name = nameModel(spec);
  return specs.some((other) => other !== spec && nameModel(other) === name) ? spec : name;
}
