/**
 * The form that connects a model: a provider, its key and address, and the model. The server tries it before it keeps
 * anything.
 */
import { FormDialog } from "../lib/dialog.mjs";
import { useNetworkReturn } from "../lib/online.mjs";
import { send } from "../lib/send.mjs";
import { _ } from "../lib/words.mjs";

const { createElement: h, useEffect, useId, useState } = window.React;

const ADDRESS = "/api/model-connections";
const UNREADABLE_TEXT = _("The providers cannot be read right now.");
const UNREACHABLE_TEXT = _("The server does not answer. Nothing was saved.");

/**
 * @typedef {{name: string, label: string, kind: "key"|"address"|"text", required: boolean, value: string, is_set: boolean}}
 *   Field  a key has no value
 * @typedef {{id: string, label: string, fields: Field[]}} Provider
 */

/** @param {{onClose: () => void}} props */
export function ConnectDialog({ onClose }) {
  const id = useId();
  const { providers, provider, chooseProvider, values, change, isTrying, problem, onSubmit } = useConnection();
  const buttons = h(
    "button",
    { type: "submit", className: "btn btn-primary", "aria-disabled": isTrying || !provider },
    isTrying ? _("Trying…") : _("Connect"),
  );
  return h(
    FormDialog,
    {
      title: _("Connect a model"), className: "connect-form", form: { onSubmit, "data-testid": "connect-dialog" }, buttons,
      onClose,
    },
    h("label", { className: "form-label", htmlFor: `${id}-provider` }, _("Provider")),
    h(
      "select",
      {
        id: `${id}-provider`, className: "form-select", value: provider?.id ?? "",
        onChange: (event) => chooseProvider(event.target.value),
      },
      providers.map((each) => h("option", { key: each.id, value: each.id }, each.label)),
    ),
    provider?.fields.map((field) =>
      h(SettingField, {
        key: `${provider.id} ${field.name}`, id: `${id}-${field.name}`, field, value: values[field.name] ?? "",
        onChange: change(field.name),
      }),
    ),
    h(
      "p",
      { className: "quiet" },
      _(
        "Waymark sends a one-word test, then saves the settings in its .env file on this machine. You won't see the key again.",
      ),
    ),
    problem && h("p", { className: "settings-problem", role: "alert" }, problem),
  );
}

/** @param {{id: string, field: Field, value: string, onChange: (event: Event) => void}} props */
function SettingField({ id, field, value, onChange }) {
  const isKey = field.kind === "key";
  return [
    h("label", { key: "label", className: "form-label", htmlFor: id }, field.label),
    h("input", {
      key: "field",
      id,
      className: "form-control",
      type: isKey ? "password" : "text",
      inputMode: field.kind === "address" ? "url" : undefined,
      value,
      onChange,
      autoComplete: isKey ? "new-password" : "off", // else browsers offer to fill in and to save a password
      spellCheck: false,
      placeholder: field.is_set ? _("A key is set. Leave empty to keep it.") : undefined,
      required: field.required && !field.is_set,
    }),
  ];
}

/** Read the forms, and submit one. After success the page is loaded again: its drafts stay. */
function useConnection() {
  const [provider, setProvider] = useState(/** @type {Provider|undefined} */ (undefined));
  const [values, setValues] = useState({});
  const [isTrying, setTrying] = useState(false);
  const [problem, setProblem] = useState(null);
  const show = (chosen) => {
    setProvider(chosen);
    setProblem(null);
    setValues(Object.fromEntries((chosen?.fields ?? []).map(({ name, value }) => [name, value])));
  };
  const providers = useProviders(show, setProblem);
  const onSubmit = async (event) => {
    event.preventDefault();
    if (isTrying || !provider) return;
    setTrying(true);
    setProblem(null);
    const refusal = await submit(provider.id, values);
    if (refusal === null) return location.reload();
    setTrying(false);
    setProblem(refusal);
  };
  const change = (name) => (event) => setValues({ ...values, [name]: event.target.value });
  return {
    providers,
    provider,
    chooseProvider: (id) => show(providers.find((each) => each.id === id)),
    values,
    change,
    isTrying,
    problem,
    onSubmit,
  };
}

/**
 * Read the providers, again when a lost network is back.
 * @param {(first: Provider|undefined) => void} onRead @param {(problem: string) => void} onProblem
 * @returns {Provider[]}
 */
function useProviders(onRead, onProblem) {
  const [{ providers, isLost }, setRead] = useState({ providers: /** @type {Provider[]} */ ([]), isLost: false });
  const read = async () => {
    const { reply, problem, status } = await send(ADDRESS, { failureText: UNREADABLE_TEXT });
    setRead({ providers: reply?.providers ?? [], isLost: status === null });
    if (reply === null) onProblem(problem ?? "");
    else onRead(reply.providers[0]);
  };
  useEffect(() => void read(), []);
  useNetworkReturn(isLost, read);
  return providers;
}

/** @returns {Promise<string|null>} the reason of a refusal, or null */
async function submit(provider, values) {
  const { reply, problem } = await send(ADDRESS, { body: { provider, values }, failureText: UNREACHABLE_TEXT });
  return problem ?? reply.problem ?? null;
}
