/** A button that opens a short list of commands. */

import { h } from "../dom.ts";

/** A command of a menu. */
export type Command = readonly [words: string, run: () => void];

/** Makes a menu. It closes after a command, at Escape, and when the focus or the pointer goes elsewhere. */
export function menu(words: string, title: string, commands: readonly Command[]): HTMLElement {
  const list = h("div", { class: "menu-list card", hidden: true });
  const button = h("button", { type: "button", title, "aria-expanded": "false" }, words);
  const show = (open: boolean) => {
    list.hidden = !open;
    button.setAttribute("aria-expanded", String(open));
  };
  button.addEventListener("click", () => show(list.hidden !== false));
  for (const [name, run] of commands) {
    const command = h("button", { type: "button" }, name);
    command.addEventListener("click", () => {
      show(false);
      button.focus();
      run();
    });
    list.append(command);
  }
  const element = h("div", { class: "menu" }, button, list);
  element.addEventListener("keydown", (event) => {
    if (event.key !== "Escape" || list.hidden) return;
    event.preventDefault();
    event.stopPropagation();
    show(false);
    button.focus();
  });
  document.addEventListener("pointerdown", (event) => !element.contains(event.target as Node) && show(false));
  element.addEventListener("focusout", (event) => event.relatedTarget !== null && !element.contains(event.relatedTarget as Node) && show(false));
  return element;
}
