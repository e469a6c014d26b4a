/** The address of the page, which holds what it shows: it is read once, kept up to date, and given to others as a link. */

import { fromHash, toHash, type View, type Wanted } from "./state.ts";

export class Address {
  #written = "";

  /** What the address asks for; null where it asks for nothing. */
  async read(): Promise<Wanted | null> {
    const wanted = await fromHash(location.hash);
    return Object.keys(wanted.view).length > 0 || wanted.problem !== null ? wanted : null;
  }

  /** Calls `changed` when somebody else than this page changes the address. */
  follow(changed: () => void): void {
    addEventListener("hashchange", () => location.hash !== this.#written && changed());
  }

  /** Writes a view into the address. */
  async write(view: View): Promise<void> {
    const hash = await toHash(view);
    if (hash === this.#written) return;
    this.#written = hash;
    history.replaceState(null, "", hash);
  }

  /** Takes the view out of the address, so that the page opens as it does for the first time. */
  clear(): void {
    this.#written = "";
    if (location.hash !== "") history.replaceState(null, "", location.pathname + location.search);
  }

  /** The link to a view. */
  async link(view: View): Promise<string> {
    return `${location.href.replace(/#.*$/, "")}${await toHash(view)}`;
  }
}
