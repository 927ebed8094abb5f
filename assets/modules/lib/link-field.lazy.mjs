/** A link that is shown once, to be copied. */
import { copyText, explainSelection } from "./copying.mjs";
import { _ } from "./words.mjs";

const { createElement: h, useId, useRef, useState } = window.React;

/** @param {{label: string, link: string}} props */
export function LinkField({ label, link }) {
  const id = useId();
  const field = useRef(null);
  const [copied, setCopied] = useState(null); // the link that was copied
  const [isSelected, setSelected] = useState(false);
  const copy = async () => {
    const done = await copyText(link, field.current);
    setCopied(done ? link : null);
    setSelected(!done);
  };
  return h(
    "div",
    { className: "link-field" },
    h("label", { htmlFor: id }, label),
    h(
      "div",
      null,
      h("input", {
        id,
        ref: field,
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
    h("p", { role: "status" }, isSelected && explainSelection()),
  );
}
