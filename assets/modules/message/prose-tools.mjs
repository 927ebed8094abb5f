/** Download code, and write tables as CSV and as Markdown. */
import { saveFile } from "../browser/saved-files.mjs";

/** The languages of a file name's extension, where it is not their name. */
const LANGUAGES = {
  sh: "bash shell zsh", cs: "c# csharp", cpp: "c++", clj: "clojure", ex: "elixir", erl: "erlang", f90: "fortran",
  go: "golang", hs: "haskell", js: "javascript", jl: "julia", kt: "kotlin", tex: "latex", md: "markdown",
  m: "matlab objective-c", mmd: "mermaid", ml: "ocaml", pl: "perl", txt: "plaintext text", ps1: "powershell",
  py: "python python3", rb: "ruby", rs: "rust", ts: "typescript",
};
const FILE_NAMES = { dockerfile: "Dockerfile", makefile: "Makefile" };
const FORMULA_START = /^[=+\-@\uff0b\uff0d\uff1d\uff20]/; // of a cell that a spreadsheet would run
const CELL_ENDS = /([;\t\r\n])/; // where a spreadsheet may begin a cell, whatever the quotes: pasted, or in another country
const NUMBER = /^[+-]?[\d.,\u00a0\u202f ]+\s?[%€$£]?$/;
const PROGRAMS = /^(bat|cmd|com|cpl|exe|hta|inf|jar|jse|lnk|msc|msi|msp|pif|reg|scf|scr|url|vb|vbe|vbs|ws|wsf|wsh)$/;
const ESCAPES = { "(": "%28", ")": "%29" };
const RULES = { left: ":--", center: ":-:", right: "--:" };
const MARKS = { STRONG: "**", B: "**", EM: "*", I: "*", S: "~~" };

/** @param {Element} code @param {string} language as the text names it */
export const downloadCode = (code, language) =>
  saveFile(chooseFileName(language.toLowerCase()), new Blob([code.textContent], { type: "text/plain" }));

/**
 * "code.py" for Python. A language is the text's own word: an unknown one becomes an extension only if it is a plain one.
 */
function chooseFileName(language) {
  if (Object.hasOwn(FILE_NAMES, language)) return FILE_NAMES[language];
  const known = Object.keys(LANGUAGES).find((each) => LANGUAGES[each].split(" ").includes(language));
  const isPlain = /^[a-z]{1,5}$/.test(language) && !PROGRAMS.test(language);
  return `code.${known ?? (isPlain ? language : "txt")}`;
}

/** @param {HTMLTableElement} table @param {string} format  "csv" or "markdown" */
export function writeTable(table, format) {
  const rows = [...table.rows].map((row) => [...row.cells]);
  return format === "csv" ? writeCsv(rows) : writeMarkdown(rows);
}

const writeCsv = (rows) => rows.map((cells) => `${cells.map((cell) => quoteCsv(readCell(cell))).join(",")}\r\n`).join("");

function quoteCsv(text) {
  const safe = text.split(CELL_ENDS).map(disarm).join("");
  return /[",\r\n]/.test(safe) || safe !== safe.trim() ? `"${safe.replaceAll('"', '""')}"` : safe;
}

const disarm = (part) => (FORMULA_START.test(part) && !NUMBER.test(part) ? `'${part}` : part);

function readCell(cell) {
  if (cell.nodeType === Node.TEXT_NODE) return cell.data;
  if (cell.dataset?.tex) return cell.dataset.tex;
  if (cell.nodeName === "BR") return "\n";
  return [...cell.childNodes].map(readCell).join("").replace(/\n\n+/g, "\n");
}

/** @param {HTMLTableCellElement[][]} rows */
function writeMarkdown([head, ...body]) {
  const writeRow = (texts) => `| ${texts.join(" | ")} |\n`;
  const rule = head.map(({ className }) => RULES[/align-(\w+)/.exec(className)?.[1] ?? ""] ?? "---");
  return [head.map(writeCell), rule, ...body.map((cells) => cells.map(writeCell))].map(writeRow).join("");
}

/** Escape the characters that end an address in Markdown, or a cell. */
const escapeAddress = (address) => address.replace(/[()|\s<>]/g, (mark) => ESCAPES[mark] ?? encodeURIComponent(mark));

/** Write the content of a cell as the Markdown that it was, on one line. */
function writeCell(node) {
  if (node.nodeType === Node.TEXT_NODE) return node.data.replace(/[\\`*[\]<|]/g, "\\$&").replace(/\s*\n\s*/g, " ");
  if (node.dataset?.tex) return node.dataset.tex.replaceAll("|", "\\|").replace(/\s*\n\s*/g, " ");
  if (node.nodeName === "CODE") return `\`${node.textContent.replaceAll("|", "\\|")}\``;
  if (node.nodeName === "BR") return "";
  const text = [...node.childNodes].map(writeCell).join("");
  if (node.nodeName === "A" && !node.classList.contains("footnote-link")) return `[${text}](${escapeAddress(node.href)})`;
  const mark = MARKS[node.nodeName] ?? "";
  return `${mark}${text}${mark}`;
}
