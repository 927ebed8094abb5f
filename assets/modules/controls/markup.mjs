/** HTML that the server has written and escaped. */
const { createElement: h } = window.React;

/** A Dash component. @param {{data: string}} props */
export const Markup = ({ data }) => h("div", { dangerouslySetInnerHTML: { __html: data } });
