/** Single instants of many runs, for the small pictures of the gallery. They are simulated out of sight, one after another. */

import type { Engine, Frame, Layout, Progress } from "../engine/index.ts";
import type { Card } from "../gallery.ts";
import type { View } from "../state.ts";
import { handOver, orderOf } from "./admission.ts";
import { Rates } from "./rates.ts";
import { hasManyHosts } from "./side.ts";

/** The run of the shots in the engine; those of the page are 0 to 3. */
const RUN = 4;
/** The most events of a shot, which take about a third of a second. A run that needs more is shown at an earlier instant. */
const EVENTS = 1_000_000;
/** The most links of a network in a small picture: more would be wallpaper. */
const LINKS = 2_000;

/** One side at one instant. */
export interface Shot {
  readonly layout: Layout;
  readonly frame: Frame;
  readonly rates: Rates;
  /** True if the use of links is drawn in place of packets. */
  readonly isLarge: boolean;
}

/** Takes the shots of a card, a side each. A side that the engine refuses has none. */
export async function shotsOf(engine: Engine, card: Card): Promise<Shot[]> {
  const { scene, sides, moment } = card;
  await handOver(engine, scene.files);
  const choices = sides ?? scene.sides.map(({ transport }) => transport ?? "own");
  const shots: Shot[] = [];
  for (const [index, choice] of choices.entries()) {
    if (choice === "none") continue;
    const shot = await take(engine, orderOf(scene, VIEW, index, choice), moment).catch(() => null);
    if (shot) shots.push(shot);
  }
  return shots;
}

/** Ends the engine's part of the shots. */
export async function endShots(engine: Engine): Promise<void> {
  await engine.call({ op: "close", run: RUN }).catch(() => {});
}

/** A view that changes nothing of a scene. */
const VIEW: Pick<View, "text" | "seed"> = { text: null, seed: null };

async function take(engine: Engine, order: ReturnType<typeof orderOf>, moment: number): Promise<Shot> {
  const layout = await engine.call<Layout>({ op: "open", run: RUN, ...order, links: LINKS });
  await engine.call<Progress>({ op: "advance", run: RUN, until_ps: moment, events: EVENTS });
  const isLarge = hasManyHosts(layout);
  const frame = await engine.frame(RUN, { packets: !isLarge, queued: !isLarge });
  const rates = new Rates(layout.ports.length);
  rates.update(frame);
  return { layout, frame, rates, isLarge };
}
