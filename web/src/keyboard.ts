/** The keys of the page. Fields that take text or values keep theirs. */

/** What each key does, by the name of the key. */
export type Keys = Readonly<Record<string, () => void>>;

/** Listens to keys; `Shift+` stands before names of keys with the shift key. */
export function listen(keys: Keys): void {
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) return;
    if (document.querySelector("dialog[open]")) return;
    const target = event.target instanceof Element ? event.target : document.body;
    const name = event.key === " " ? "Space" : event.key;
    if (target.matches("textarea, select, input[type=number], input[type=text]") && name !== "Escape") return;
    if (target.matches("input[type=range]") && /^(Arrow|Home|End|Page)/.test(name)) return;
    if (target.matches("button, summary") && (name === "Space" || name === "Enter")) return;
    const shifted = event.shiftKey && name.length > 1 ? `Shift+${name}` : name;
    const action = keys[shifted];
    if (!action) return;
    event.preventDefault();
    action();
  });
}
