/** Load the stylesheet of a lazy module, once. @param {URL} address of the stylesheet */
export function loadStyle({ href }) {
  if (document.querySelector(`link[href="${href}"]`)) return;
  document.head.append(Object.assign(document.createElement("link"), { rel: "stylesheet", href }));
}
