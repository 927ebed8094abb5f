/** The files of a message. */
import { button } from "../controls/buttons.mjs";
import { useDialog } from "../controls/dialog.mjs";
import { icon } from "../controls/icons.mjs";
import { fetchAsPage } from "../requests/session.mjs";
import { getOpenThread, openPlace } from "../state/show-message.mjs";
import { formatSize } from "../words/format.mjs";
import { _ } from "../words/words.mjs";

const { Fragment, createElement: h, useEffect, useLayoutEffect, useRef, useState } = window.React;
const { createPortal } = window.ReactDOM;

const GONE_TEXT = _("The origin of this note is not in this conversation.");

/** @param {{excerpt: import("../state/types.mjs").ExcerptView}} props */
export function ExcerptOrigin({ excerpt: { origin, address } }) {
  const onClick = () =>
    openPlace(getOpenThread(), address, _("origin of the note"), { goneText: GONE_TEXT, stays: true });
  return h("p", { className: "note-left quiet" },
    h("button", { type: "button", className: "text-button", title: _("From {origin}", { origin }), onClick },
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
  const { name, size, address } = file;
  const { place, source, isLost, setLost } = usePicture(address);
  const [isLarge, setLarge] = useState(false);
  if (isLost)
    return h("span", { className: "attached-chip attached-lost" },
      icon("exclamation-triangle"),
      _("{name} is damaged and is not shown.", { name }),
    );
  return h(
    Fragment,
    null,
    h(
      "button",
      {
        ref: place, type: "button", className: "attached-picture", "aria-label": _("Open {name}", { name }),
        title: `${name} · ${formatSize(size)}`, onClick: () => source && setLarge(true),
      },
      h("img", { src: source, alt: name, onError: () => setLost(true) }),
    ),
    isLarge && h(LargePicture, { file, source, onClose: () => setLarge(false) }),
  );
}

/** A fetched picture in a dialog, which a click outside of it closes. */
function LargePicture({ file: { name, size, address }, source, onClose }) {
  const dialog = useDialog(onClose);
  const close = useRef(null);
  useLayoutEffect(() => close.current.focus(), []); // after the dialog has focused the first link
  const onCancel = (event) => (event.preventDefault(), onClose());
  const onClick = (event) => event.target === dialog.current && onClose();
  return createPortal(
    h("dialog", { ref: dialog, className: "attached-large", "aria-label": name, onCancel, onClick },
      h("img", { src: source, alt: name }),
      h("div", { className: "attached-bar" },
        h("p", null, `${name} · ${formatSize(size)}`),
        h("a", { href: address, download: name, className: "btn btn-primary" }, _("Download")),
        button("btn btn-secondary", _("Close"), onClose, { ref: close }),
      ),
    ),
    document.body,
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
