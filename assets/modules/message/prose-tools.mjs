/** Download code, and write tables as CSV and as Markdown. Fetched with the first use. */

/** File name extensions by language, where they differ. */
const EXTENSIONS = {
  bash: "sh",
  c: "c",
  "c#": "cs",
  "c++": "cpp",
  clojure: "clj",
  csharp: "cs",
  elixir: "ex",
  erlang: "erl",
  fortran: "f90",
  golang: "go",
  haskell: "hs",
  javascript: "js",
  jsx: "jsx",
  julia: "jl",
  kotlin: "kt",
  latex: "tex",
  markdown: "md",
  matlab: "m",
  mermaid: "mmd",
  "objective-c": "m",
  ocaml: "ml",
  perl: "pl",
  plaintext: "txt",
  powershell: "ps1",
  python: "py",
  python3: "py",
  ruby: "rb",
  rust: "rs",
  shell: "sh",
  text: "txt",
  typescript: "ts",
  yaml: "yaml",
  zsh: "sh",
};
const FILE_NAMES = { dockerfile: "Dockerfile", makefile: "Makefile" };
const FORMULA_START = /^[=+\-@\uff0b\uff0d\uff1d\uff20]/; // of a cell that a spreadsheet would run
const CELL_ENDS = /([;\t\r\n])/; // where a spreadsheet may begin a cell, whatever the quotes: pasted, or in another country
const NUMBER = /^[+-]?[\d.,\u00a0\u202f ]+\s?[%€$£]?$/;
const MARKS = { STRONG: "**", B: "**", EM: "*", I: "*", S: "~~" };

/** @param {Element} code @param {string} language as the text names it */
export function downloadCode(code, language) {
  const address = URL.createObjectURL(new Blob([code.textContent], { type: "text/plain" }));
  const link = Object.assign(document.createElement("a"), { href: address, download: chooseFileName(language) });
  document.body.append(link);
  link.click();
  link.remove();
  URL.revokeObjectURL(address);
}

/**
 * "code.py" for Python. A language is the text's own word: an unknown one becomes an extension only if it is a plain one.
 */
function chooseFileName(language) {
  const name = language.toLowerCase();
  if (Object.hasOwn(FILE_NAMES, name)) return FILE_NAMES[name];
  if (Object.hasOwn(EXTENSIONS, name)) return `code.${EXTENSIONS[name]}`;
  return /^[a-z]{1,5}$/.test(name) &&
    !/^(bat|cmd|com|cpl|exe|hta|inf|jar|jse|lnk|msc|msi|msp|pif|reg|scf|scr|url|vb|vbe|vbs|ws|wsf|wsh)$/.test(name)
    ? `code.${name}`
    : "code.txt";
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
  const rule = head.map(({ className }) =>
    /align-right/.test(className)
      ? "--:"
      : /align-center/.test(className)
        ? ":-:"
        : /align-left/.test(className)
          ? ":--"
          : "---",
  );
  return [head.map(writeCell), rule, ...body.map((cells) => cells.map(writeCell))].map(writeRow).join("");
}

/** Escape the characters that end an address in Markdown, or a cell. */
const escapeAddress = (address) =>
  address
    .replace(/[()|\s<>]/g, encodeURIComponent)
    .replace(/[()]/g, (mark) => `%${mark.charCodeAt(0).toString(16)}`);

/** Write the content of a cell as the Markdown that it was, on one line. */
function writeCell(node) {
  if (node.nodeType === Node.TEXT_NODE) return node.data.replace(/[\\`*[\]<|]/g, "\\$&").replace(/\s*\n\s*/g, " ");
  if (node.dataset?.tex) return node.dataset.tex.replaceAll("|", "\\|").replace(/\s*\n\s*/g, " ");
  if (node.nodeName === "CODE") return `\`${node.textContent.replaceAll("|", "\\|")}\``;
  if (node.nodeName === "BR") return "";
  const text = [...node.childNodes].map(writeCell).join("");
  if (node.nodeName === "A" && !node.classList.contains("footnote-link"))
    return `[${text}](${escapeAddress(node.href)})`;
  const mark = MARKS[node.nodeName] ?? "";
  return `${mark}${text}${mark}`;
}
