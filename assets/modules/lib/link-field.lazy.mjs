/** A link that is shown once, to be copied. */
import { loadStyle } from "./style.lazy.mjs";
import { _ } from "./words.mjs";

const { createElement: h, useId, useState } = window.React;

loadStyle(new URL("./link-field.lazy.css", import.meta.url));

/** @param {{label: string, link: string}} props */
export function LinkField({ label, link }) {
  const id = useId();
  const [copied, setCopied] = useState(null); // the link that was copied
  const copy = () => navigator.clipboard.writeText(link).then(() => setCopied(link));
  return h(
    "div",
    { className: "link-field" },
    h("label", { htmlFor: id }, label),
    h(
      "div",
      null,
      h("input", {
        id,
        className: "form-control",
        readOnly: true,
        autoFocus: true,
        value: link,
        onFocus: (event) => event.target.select(),
      }),
      h(
        "button",
        { type: "button", className: "btn btn-outline-secondary", onClick: copy },
        copied === link ? _("Copied") : _("Copy"),
      ),
    ),
  );
}
