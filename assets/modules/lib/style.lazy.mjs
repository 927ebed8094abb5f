/** Rules that only a lazy part needs, fetched with it. @param {URL} address of the stylesheet beside the part */
export function loadStyle({ href }) {
  if (document.querySelector(`link[href="${href}"]`)) return;
  document.head.append(Object.assign(document.createElement("link"), { rel: "stylesheet", href }));
}
