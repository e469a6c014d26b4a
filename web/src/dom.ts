/** Elements of the page in one expression each. */

type Child = Node | string | null | false;
type Properties = Record<string, unknown>;

/** Makes an element. Properties that start with `on` are listeners; `class`, `aria-*`, `data-*`, `role`, `for` are attributes. */
export function h<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  properties: Properties = {},
  ...children: Child[]
): HTMLElementTagNameMap[K] {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value as EventListener);
    else if (name in element && !name.includes("-") && name !== "list") Object.assign(element, { [name]: value });
    else element.setAttribute(name, String(value));
  }
  put(element, ...children);
  return element;
}

/** Replaces what an element holds. */
export function put(element: Element, ...children: Child[]): void {
  element.replaceChildren(...children.filter((child): child is Node | string => child !== null && child !== false));
}

/** Sets the text of an element only if it differs, so that a steady page costs no layout. */
export function write(element: Element, text: string): void {
  if (element.textContent !== text) element.textContent = text;
}

/** A button with a label for screen readers and a hint with its key. */
export function button(label: string, sign: string, key: string | null, onclick: () => void): HTMLButtonElement {
  return h(
    "button",
    { type: "button", title: key ? `${label} (${key})` : label, "aria-label": label, "aria-keyshortcuts": key, onclick },
    sign,
  );
}

/** An element that must be there. */
export function byId<T extends HTMLElement>(id: string): T {
  const element = document.getElementById(id);
  if (!element) throw new Error(`the page has no element #${id}`);
  return element as T;
}
