/** The buttons of the composer, and the notices above its field. */
import { button, iconButton } from "../controls/buttons.mjs";
import { icon } from "../controls/icons.mjs";
import { _ } from "../words/words.mjs";

const { Fragment, createElement: h, useRef } = window.React;

/** @param {{onChoose: (files: Iterable<File>) => void}} props */
export function AttachButton({ onChoose }) {
  const chooser = useRef(null);
  const onChange = ({ target }) => {
    onChoose(target.files);
    target.value = ""; // else choosing the same file again fires no event
  };
  return h(
    Fragment,
    null,
    h("input", { type: "file", multiple: true, hidden: true, ref: chooser, "aria-label": _("Files to attach"), onChange }),
    iconButton("paperclip", _("Attach files"), () => chooser.current.click(), { className: "attach-button" }),
  );
}

/** Begin a command in the empty field. Beside a text, which stays, the palette has the same commands. */
export function CommandsButton({ field }) {
  const onClick = () => {
    if (field.getText() !== "") return document.querySelector("#open-palette")?.click();
    field.textarea.current.focus();
    return field.changeText("/");
  };
  return button("text-button commands-button", `/ ${_("commands")}`, onClick, { title: _("Commands and prompts") });
}

const roundButton = (className, sign, name, testId, isOff, onClick) =>
  button(`send-button ${className}`.trim(), sign, onClick, {
    "data-testid": testId, "aria-label": name, title: name, "aria-disabled": isOff,
  });

export const SendButton = ({ isSending, isEmpty, onClick }) =>
  roundButton("", isSending ? h("span", { className: "spinner" }) : icon("arrow-up"), _("Send"), "send",
    isEmpty || isSending, onClick);

export function StopButton({ isStopping, onClick }) {
  // The second press of a double click was meant for the Send button, which was in this place.
  const onPress = (event) => !isStopping && event.detail < 2 && onClick();
  return roundButton("stop-button", icon("stop-fill"), _("Stop"), "stop", isStopping, onPress);
}

/**
 * A line above the field, and what can be done about it.
 * @param {{sign: string, text: any, className?: string, role?: "status"|"alert", children?: any}} props
 */
export const Notice = ({ sign, text, className = "composer-queued", role = "status", children = null }) =>
  h("div", { className, role }, icon(sign), h("p", null, text), children);
