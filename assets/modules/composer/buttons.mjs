/** The buttons of the composer. */
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
    h(
      "button",
      {
        type: "button", className: "icon-button attach-button", "aria-label": _("Attach files"), title: _("Attach files"),
        onClick: () => chooser.current.click(),
      },
      icon("paperclip"),
    ),
  );
}

/** Begin a command in the empty field. Beside a text, which stays, the palette has the same commands. */
export function CommandsButton({ field }) {
  const onClick = () => {
    if (field.getText() !== "") return document.querySelector("#open-palette")?.click();
    field.textarea.current.focus();
    return field.changeText("/");
  };
  return h(
    "button",
    { type: "button", className: "text-button commands-button", title: _("Commands and prompts"), onClick },
    "/ ",
    _("commands"),
  );
}

export function SendButton({ isSending, isEmpty, onClick }) {
  const disabled = isEmpty || isSending;
  return h(
    "button",
    {
      type: "button", className: "send-button", "data-testid": "send", "aria-label": _("Send"), title: _("Send"),
      "aria-disabled": disabled, onClick,
    },
    isSending ? h("span", { className: "spinner" }) : icon("arrow-up"),
  );
}

export function StopButton({ isStopping, onClick }) {
  // The second press of a double click was meant for the Send button, which was in this place.
  const onPress = (event) => !isStopping && event.detail < 2 && onClick();
  return h(
    "button",
    {
      type: "button",
      className: "send-button stop-button",
      "data-testid": "stop",
      "aria-label": _("Stop"),
      title: _("Stop"),
      "aria-disabled": isStopping,
      onClick: onPress,
    },
    icon("stop-fill"),
  );
}
