/** The form that changes the own password. */
import { FormDialog } from "../lib/dialog.lazy.mjs";
import { send } from "../lib/send.mjs";
import { showToast } from "../lib/toast.mjs";
import { _ } from "../lib/words.mjs";

const { createElement: h, useId, useState } = window.React;

const MIN_CHARS = 12; // the server has the rules

/** @param {{onClose: () => void}} props */
export function PasswordDialog({ onClose }) {
  const id = useId();
  const [problem, setProblem] = useState(null);
  const [isSaving, setSaving] = useState(false);
  const onSubmit = async (event) => {
    event.preventDefault();
    if (isSaving) return;
    const [former, fresh] = ["former", "new"].map((name) => event.currentTarget.elements[name].value);
    setSaving(true);
    const found = await changePassword(former, fresh);
    setSaving(false);
    setProblem(found);
    if (found !== null) return;
    onClose();
    showToast(_("The password is changed. Your other browsers are signed out."));
  };
  const field = (name, label, options) => [
    h("label", { key: `${name}-label`, className: "form-label", htmlFor: `${id}-${name}` }, label),
    h("input", { key: name, id: `${id}-${name}`, name, type: "password", className: "form-control", required: true,
      ...options }),
  ];
  const buttons = h("button", { type: "submit", className: "btn btn-primary", "aria-disabled": isSaving }, _("Save"));
  return h(
    FormDialog,
    { title: _("Change the password"), form: { onSubmit, autoComplete: "on", "data-testid": "password-dialog" }, buttons,
      onClose },
    problem && h("p", { className: "text-danger", role: "alert" }, problem),
    field("former", _("Present password"), { autoComplete: "current-password", autoFocus: true }),
    h("div", { className: "mt-3" }, field("new", _("New password"), { autoComplete: "new-password", minLength: MIN_CHARS })),
    h("p", { className: "quiet mt-2" },
      _("At least {least} characters. A few words in a row are easy to keep.", { least: MIN_CHARS })),
  );
}

/** @returns {Promise<string|null>} the problem, or null */
async function changePassword(former, fresh) {
  const { reply, problem } = await send("/api/password", {
    body: { former, new: fresh },
    failureText: _("The password could not be changed. Please try again."),
  });
  return problem ?? reply.problem;
}
