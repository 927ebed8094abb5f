/** The lines and marks of History, drawn as SVG from the layout. */

const { createElement: h, memo } = window.React;

const LANE_WIDTH = 16;
const MAX_LANES_WIDTH = 112; // more lanes are nearer to one another
const MARGIN = 15;
const LINES = ["other", "removed", "replaced", "current", "move"]; // the last is drawn above the others

/**
 * @param {{lanes: number}} layout
 * @returns {{x: (lane: number) => number, width: number}} the columns of the lanes, in pixels
 */
export function measureLanes({ lanes }) {
  const step = lanes > 1 ? Math.min(LANE_WIDTH, MAX_LANES_WIDTH / (lanes - 1)) : LANE_WIDTH;
  return { x: (lane) => MARGIN + lane * step, width: MARGIN * 2 + (lanes - 1) * step };
}

/**
 * Draw the rows from `first` to before `end`.
 * @param {{layout: import("./layout.mjs").HistoryLayout, first: number, end: number, height: number}} props
 */
function GraphView({ layout, first, end, height }) {
  const { x, width } = measureLanes(layout);
  const paths = drawEdges(layout, first, end, height, x);
  const line = (name) => paths[name] && h("path", { key: name, className: `graph-line graph-${name}`, d: paths[name] });
  const rows = layout.rows.slice(first, end);
  return h(
    "svg",
    {
      className: "graph", "aria-hidden": true, focusable: "false", width, height: (end - first) * height,
      style: { top: `${first * height}px` },
    },
    h(
      "g",
      { transform: `translate(0 ${-first * height})` },
      LINES.map(line),
      rows.map((row, place) => drawMark(row, x(row.lane), (first + place + 0.5) * height)),
    ),
  );
}

export const Graph = memo(GraphView);

/** Join the edges in view to one path for each kind of line. */
function drawEdges({ rows, edges }, first, end, height, x) {
  const paths = { current: "", other: "", removed: "", replaced: "", move: "" };
  const [top, bottom] = [first * height, end * height];
  for (const { from, to, line } of edges) {
    if (to < first || from >= end) continue;
    const [lane, target] = [x(rows[from].lane), x(rows[to].lane)];
    const [begin, y] = [Math.max(top, (from + 0.5) * height), (to + 0.5) * height];
    if (lane === target || y - height > bottom) paths[line] += `M${lane} ${begin}V${Math.min(bottom, y)}`;
    else {
      paths[line] += `M${lane} ${Math.min(begin, y - height)}V${y - height}`;
      paths[line] += `C${lane} ${y - height * 0.35} ${target} ${y - height * 0.75} ${target} ${y}`;
    }
    if (rows[to].kind === "move" && rows[to].item.value.kind !== "summary") {
      paths.move += `M${lane} ${begin}C${lane - 15} ${begin} ${target - 15} ${y} ${target} ${y}`;
    }
  }
  return paths;
}

const diamond = (x, y, size) => `M${x} ${y - size}l${size} ${size}-${size} ${size}-${size}-${size}z`;

/** Draw what is at a place. */
function drawMark({ key, kind, item, line }, x, y) {
  const classes = `graph-mark graph-at-${line}`;
  const dot = (name, r) => h("circle", { key, className: `${classes} mark-${name}`, cx: x, cy: y, r });
  if (kind === "checkpoint") {
    const { created_by: author } = item.value;
    const name = author === "judge" ? "milestone" : author === "agent" ? "checkpoint mark-agent-checkpoint" : "checkpoint";
    const mark = h("path", { key, className: `${classes} mark-${name}`, d: diamond(x, y, 6.5) });
    return item.isMarked ? h("g", { key }, mark, h("path", { className: "mark-halo", d: diamond(x, y, 11.5) })) : mark;
  }
  if (kind === "branch" && item.isMarked)
    return h("g", { key }, dot("here", 4.5), h("circle", { className: "mark-halo", cx: x, cy: y, r: 8.5 }));
  if (kind === "branch" || kind === "removed" || kind === "alternative") return dot(item.isHere ? "here" : "head", 4.5);
  if (kind === "move") return dot(item.value.kind === "summary" ? "summary" : "move", 4.5);
  return kind === "fold" ? null : dot("fork", 3);
}
