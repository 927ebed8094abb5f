/** Copy formulas as TeX: a browser would copy their letters without their structure. */

/** Put the TeX of the selected formulas into what is copied as text. Copied as HTML they stay formulas. */
export function watchFormulaCopies() {
  document.addEventListener("copy", (event) => {
    const selection = document.getSelection();
    const target = /** @type {Element} */ (event.target);
    if (selection === null || selection.isCollapsed || target.closest?.("input, textarea")) return;
    const range = selection.getRangeAt(0);
    const within = findFormula(range.commonAncestorContainer);
    const copy = document.createElement("div");
    copy.append(within ? within.cloneNode(true) : range.cloneContents());
    const formulas = copy.querySelectorAll("[data-tex]");
    if (formulas.length === 0) return;
    event.preventDefault();
    event.clipboardData?.setData("text/html", copy.innerHTML);
    for (const formula of formulas) formula.textContent = formula.dataset.tex ?? "";
    event.clipboardData?.setData("text/plain", readText(copy));
  });
}

const findFormula = (node) => (node instanceof Element ? node : node.parentElement)?.closest("[data-tex]");

/** Return the text as the page would show it, with its line breaks. */
function readText(element) {
  element.className = "visually-hidden prose";
  document.body.append(element);
  const text = element.innerText;
  element.remove();
  return text;
}
