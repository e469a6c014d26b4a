/** The signs on buttons, as lines of SVG. */

const PATHS = {
  play: "M5 3l9 6-9 6z",
  pause: "M5 3h3v12H5zM10 3h3v12h-3z",
  step: "M3 3l7 6-7 6zM12 3h3v12h-3z",
  event: "M3 3l6 6-6 6zM10 7h5v4h-5z",
  back: "M15 3L8 9l7 6zM3 3h3v12H3z",
  restart: "M9 2a7 7 0 1 1-6.3 4l1.8.9A5 5 0 1 0 9 4v3L4.5 3.5 9 0z",
  gallery: "M2 2h6v6H2zM10 2h6v6h-6zM2 10h6v6H2zM10 10h6v6h-6z",
  theme: "M9 2a7 7 0 1 0 0 14zM9 1a8 8 0 1 1 0 16A8 8 0 0 1 9 1",
} as const;

export type Icon = keyof typeof PATHS;

/** A sign that takes the colour of its text. */
export function icon(name: Icon): SVGSVGElement {
  const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  svg.setAttribute("viewBox", "0 0 18 18");
  svg.setAttribute("aria-hidden", "true");
  const path = document.createElementNS("http://www.w3.org/2000/svg", "path");
  path.setAttribute("d", PATHS[name]);
  path.setAttribute("fill", "currentColor");
  path.setAttribute("fill-rule", "evenodd");
  svg.append(path);
  return svg;
}
