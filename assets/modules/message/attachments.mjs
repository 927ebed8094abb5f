/** The files of a message. */
import { icon } from "../controls/icons.mjs";
import { fetchAsPage } from "../requests/session.mjs";
import { getOpenThread, showPlace } from "../state/show-message.mjs";
import { formatSize } from "../words/format.mjs";
import { _ } from "../words/words.mjs";

const { createElement: h, useEffect, useRef, useState } = window.React;

const GONE_TEXT = _("The origin of this note is not in this conversation.");

/** @param {{excerpt: import("../state/types.mjs").ExcerptView}} props */
export function ExcerptOrigin({ excerpt: { origin, address } }) {
  const show = () => showPlace(getOpenThread(), address, _("origin of the note"), GONE_TEXT);
  return h(
    "p",
    { className: "note-left quiet" },
    h(
      "button",
      { type: "button", className: "text-button", title: _("From {origin}", { origin }), onClick: show },
      icon("signpost-2"),
      _(" Show its origin"),
    ),
  );
}

const NEAR_VIEW = "600px"; // a picture this far outside the window is fetched

/** @param {{files: import("../state/types.mjs").FileView[]}} props sent with a message */
export function AttachedFiles({ files }) {
  return h(
    "ul",
    { className: "attached", "aria-label": _("Attached files") },
    files.map((file) =>
      h("li", { key: file.address }, file.kind === "image" ? h(Picture, { file }) : h(Download, { file })),
    ),
  );
}

function Picture({ file }) {
  const { place, source, isLost, setLost } = usePicture(file.address);
  if (isLost)
    return h(
      "span",
      { className: "attached-chip attached-lost" },
      icon("exclamation-triangle"),
      _("{name} is damaged and is not shown.", { name: file.name }),
    );
  return h(
    "button",
    {
      ref: place, type: "button", className: "attached-picture", "aria-label": _("Open {name}", { name: file.name }),
      title: `${file.name} · ${formatSize(file.size)}`, onClick: () => source && enlarge(file, source),
    },
    h("img", { src: source, alt: file.name, onError: () => setLost(true) }),
  );
}

/** Fetch a picture when it comes near the view: an `img` alone could not carry the page's key. @param {string} address */
function usePicture(address) {
  const place = useRef(null);
  const [source, setSource] = useState(undefined);
  const [isLost, setLost] = useState(false);
  useEffect(() => {
    const controller = new AbortController();
    /** @type {string|null} */
    let href = null;
    const load = async () => {
      try {
        const reply = await fetchAsPage(address, { signal: controller.signal });
        if (!reply.ok) throw new Error(reply.statusText);
        const content = await reply.blob();
        if (!controller.signal.aborted) setSource((href = URL.createObjectURL(content)));
      } catch {
        if (!controller.signal.aborted) setLost(true);
      }
    };
    const observer = new IntersectionObserver(
      (entries) => entries.some((entry) => entry.isIntersecting) && (observer.disconnect(), load()),
      { rootMargin: NEAR_VIEW },
    );
    observer.observe(place.current);
    return () => (observer.disconnect(), controller.abort(), href && URL.revokeObjectURL(href));
  }, [address]);
  return { place, source, isLost, setLost };
}

function Download({ file }) {
  return h(
    "a",
    { className: "attached-chip", href: file.address, download: file.name },
    icon("paperclip"),
    h("span", { className: "attached-name", title: file.name }, file.name),
    h("span", { className: "attached-size" }, formatSize(file.size)),
  );
}

/** Show a fetched picture in a native dialog: Escape closes it and returns the focus. */
function enlarge(file, source) {
  const make = (tag, properties, ...children) => {
    const element = Object.assign(document.createElement(tag), properties);
    element.append(...children);
    return element;
  };
  const dialog = make("dialog", { className: "attached-large", ariaLabel: file.name });
  const close = make("button", {
    type: "button",
    className: "btn btn-secondary",
    textContent: _("Close"),
    onclick: () => dialog.close(),
  });
  const keep = make("a", {
    href: file.address,
    download: file.name,
    className: "btn btn-primary",
    textContent: _("Download"),
  });
  const name = make("p", { textContent: `${file.name} · ${formatSize(file.size)}` });
  dialog.append(make("img", { src: source, alt: file.name }), make("div", { className: "attached-bar" }, name, keep, close));
  dialog.onclick = (event) => event.target === dialog && dialog.close(); // outside the picture
  dialog.onclose = () => dialog.remove();
  document.body.append(dialog);
  dialog.showModal();
  close.focus();
}
