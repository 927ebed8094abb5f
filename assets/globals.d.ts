// What Dash and React put on the window: they bring no types, and React's own would be packages of their own.
declare const React: any;
declare const ReactDOM: any;

interface Window {
  waymark: any;
  React: any;
  ReactDOM: any;
  dash_clientside: any;
  dash_component_api: any;
  dash_stores: any;
}

// The page's queries find HTML elements: nothing looks for the parts of a drawing.
interface ParentNode {
  querySelector<K extends keyof HTMLElementTagNameMap>(selectors: K): HTMLElementTagNameMap[K] | null;
  querySelector<E extends HTMLElement = HTMLElement>(selectors: string): E | null;
  querySelectorAll<K extends keyof HTMLElementTagNameMap>(selectors: K): NodeListOf<HTMLElementTagNameMap[K]>;
  querySelectorAll<E extends HTMLElement = HTMLElement>(selectors: string): NodeListOf<E>;
}

interface Element {
  closest<K extends keyof HTMLElementTagNameMap>(selector: K): HTMLElementTagNameMap[K] | null;
  closest<E extends HTMLElement = HTMLElement>(selectors: string): E | null;
}
