/** Rules that only who opens something needs. @param {string} name of a stylesheet that stands beside this module */
export function style(name) {
  const address = new URL(`./${name}`, import.meta.url).href;
  if (document.querySelector(`link[href="${address}"]`)) return;
  document.head.append(Object.assign(document.createElement("link"), { rel: "stylesheet", href: address }));
}
