// The view of all streams as they are sampled: a grid of moving plots that share one span of time.
import { announce, button, fill, make, write } from "./dom.js";
import { call } from "./api.js";
import { backfill, history, now, on, seriesOf, store, untilDescribed, want } from "./store.js";
import { Series } from "./series.js";
import { drawSeries, drawSpectra, plotOf, plotWidth, spectrum } from "./plot.js";
import { colorName, onColors, remember, remembered } from "./theme.js";
import { count, duration, plural, text as anyText, time as timeText, value } from "./format.js";

const windows = [2, 5, 10, 30, 60, 300, 600];
const modes = [["fields", "x y z"], ["magnitude", "Magnitude"], ["spectrum", "Spectrum"]];
/** Plots at once; more are asked for with a button. */
const pageSize = 24;
/** The least time between two frames: 30 a second, and 2 for people who do not want motion. */
const still = matchMedia("(prefers-reduced-motion: reduce)");
const frameTime = () => (still.matches ? 500 : 1000 / 31);

/** What all plots show: `end` is null at the present, or the time at the right edge. */
export const view = { window: 10, end: null, mode: "fields", filter: "", cursor: null, shown: pageSize };

const cards = new Map();
let root, grid, controls, isOpen = false, lastFrame = 0, isDirty = true;

/** Builds the view. */
export function setUpLive(section) {
  root = section;
  view.mode = remembered("mode", "fields");
  if (!modes.some(([mode]) => mode === view.mode)) view.mode = "fields";
  view.window = windows.includes(remembered("window", 10)) ? remembered("window", 10) : 10;
  store.window = view.window;
  controls = {
    pause: button("Pause", togglePause, { "aria-keyshortcuts": "p", class: "main" }),
    zoomIn: button("+", () => zoom(-1), { "aria-label": "Zoom in: show less time", "aria-keyshortcuts": "+" }),
    zoomOut: button("−", () => zoom(1), { "aria-label": "Zoom out: show more time", "aria-keyshortcuts": "-" }),
    window: make("output", { class: "window", "aria-label": "Time shown" }),
    back: button("◀", () => scroll(-0.5), { "aria-label": "Scroll back", "aria-keyshortcuts": "ArrowLeft" }),
    forward: button("▶", () => scroll(0.5), { "aria-label": "Scroll forward", "aria-keyshortcuts": "ArrowRight" }),
    slider: make("input", { type: "range", min: "-600", max: "0", step: "0.1", value: "0", "aria-label": "Time shown at the right edge, before now", oninput: slide }),
    present: button("Live", goLive, { "aria-keyshortcuts": "l" }),
    where: make("output", { class: "where" }),
    filter: make("input", { type: "search", placeholder: "Filter streams", "aria-label": "Filter streams", oninput: (event) => { view.filter = event.target.value; view.shown = pageSize; layOut(); } }),
    summary: make("p", { class: "summary" }),
    more: button("Show more streams", () => { view.shown += pageSize; layOut(); }, { hidden: true }),
    empty: make("div", { class: "empty", hidden: true }),
  };
  const mode = make("fieldset", { class: "segments" }, make("legend", { class: "unseen" }, "Plot"),
    modes.map(([name, label]) => make("label", {}, make("input", { type: "radio", name: "mode", value: name, checked: view.mode === name, onchange: () => setMode(name) }), make("span", {}, label))));
  grid = make("div", { class: "grid" });
  fill(section,
    make("h1", { class: "unseen" }, "Live"),
    make("div", { class: "toolbar", role: "group", "aria-label": "Plots" },
      make("div", { class: "group" }, controls.pause, controls.present),
      make("div", { class: "group" }, controls.zoomOut, controls.window, controls.zoomIn),
      make("div", { class: "group grows" }, controls.back, controls.slider, controls.forward, controls.where),
      mode, controls.filter),
    controls.summary, controls.empty, grid, controls.more);
  on("state", () => { if (isOpen) layOut(); });
  on("samples", (series) => { const card = cards.get(series.name); if (card) { card.isDirty = true; if (!card.isComplete) card.rebuild(); } });
  on("gap", ({ series, gap }) => announceGap(series, gap));
  on("steps", () => { isDirty = true; });
  on("connection", () => { if (isOpen) layOut(); });
  onColors(() => { for (const card of cards.values()) card.isDirty = true; });
  showWindow();
  timeChanged();
  requestAnimationFrame(frame);
}

/** Shows it or leaves it. Samples still arrive for a while, so that it is full on return. */
export function openLive(isShown) {
  isOpen = isShown;
  if (isShown) layOut();
}

/** The keys of the view; whether it was one. */
export function liveKey(key) {
  switch (key) {
    case "p": case "P": togglePause(); return true;
    case "l": case "L": goLive(); return true;
    case "+": case "=": zoom(-1); return true;
    case "-": case "_": zoom(1); return true;
    case "ArrowLeft": scroll(-0.25); return true;
    case "ArrowRight": scroll(0.25); return true;
    case "1": case "2": case "3": setMode(modes[Number(key) - 1][0]); return true;
    default: return false;
  }
}

// Time

function rightEdge() { return view.end ?? now(); }

function togglePause() {
  if (view.end === null) view.end = now(); else view.end = null;
  timeChanged();
}

function goLive() { view.end = null; timeChanged(); }

function zoom(direction) {
  const index = Math.max(0, Math.min(windows.length - 1, windows.indexOf(view.window) + direction));
  view.window = windows[index];
  store.window = view.window;
  remember("window", view.window);
  showWindow();
  timeChanged();
}

function scroll(part) { moveTo(rightEdge() + part * view.window); }

function slide(event) { const back = Number(event.target.value); moveTo(back >= 0 ? Infinity : now() + back); }

/** Shows the time before `end`, in UTC seconds; the present if that is not over. */
export function moveTo(end) {
  view.end = end >= now() ? null : Math.max(end, now() - reach());
  timeChanged();
}

/** How far back the past goes: the longest retention, or what the page has. */
function reach() {
  let longest = 30;
  for (const { series } of cards.values()) {
    longest = Math.max(longest, series.description?.retention ?? 600, series.count > 0 ? now() - series.first : 0);
  }
  return Math.min(longest, 86_400);
}

function showWindow() {
  write(controls.window, duration(view.window));
  controls.zoomIn.disabled = view.window === windows[0];
  controls.zoomOut.disabled = view.window === windows.at(-1);
}

function timeChanged() {
  const isLive = view.end === null;
  write(controls.pause, isLive ? "Pause" : "Continue");
  controls.pause.setAttribute("aria-pressed", String(!isLive));
  controls.present.disabled = isLive;
  for (const card of cards.values()) { card.isDirty = true; card.past = isLive ? null : card.past; }
  askPast();
}

let pastTimer = null;
/** Asks for what the span needs and the page does not have, once its choice has settled. */
function askPast() {
  clearTimeout(pastTimer);
  pastTimer = setTimeout(() => {
    const to = rightEdge(), from = to - view.window;
    for (const card of cards.values()) if (card.isVisible) card.ask(from, to);
  }, 150);
}

function setMode(mode) {
  view.mode = mode;
  remember("mode", mode);
  for (const input of root.querySelectorAll("input[name=mode]")) input.checked = input.value === mode;
  for (const card of cards.values()) { card.isDirty = true; card.rebuild(); }
}

// The grid

/** The streams that the filter leaves, in order. */
function names() {
  const known = (store.state?.streams ?? []).map((stream) => `${stream.device}/${stream.stream}`);
  const words = view.filter.toLowerCase().split(/\s+/).filter(Boolean);
  return known.filter((name) => words.every((word) => name.toLowerCase().includes(word))).sort();
}

function layOut() {
  const all = names();
  const shown = all.slice(0, view.shown);
  for (const [name, card] of cards) if (!shown.includes(name)) { card.remove(); cards.delete(name); }
  let previous = null;
  for (const name of shown) {
    let card = cards.get(name);
    if (!card) cards.set(name, card = new Card(seriesOf(name)));
    const place = previous ? previous.nextSibling : grid.firstChild;
    if (place !== card.element) grid.insertBefore(card.element, place);
    previous = card.element;
  }
  controls.more.hidden = all.length <= shown.length;
  write(controls.more, `Show more streams (${all.length - shown.length} left)`);
  const total = store.state?.streams?.length ?? 0;
  controls.empty.hidden = shown.length > 0;
  if (shown.length === 0) showEmpty(total);
  if (store.state && !document.hidden) want(all.length === total && all.length <= view.shown ? null : shown);
  subscribeSteps(shown);
  isDirty = true;
}

function showEmpty(total) {
  const program = store.state?.programs?.find((entry) => entry.name === "sensor-publisher");
  const lines = !store.state ? ["Waiting for the console …"]
    : total > 0 ? ["No stream matches the filter."]
    : program && !program.health ? ["No streams: sensor-publisher does not answer.", "Start it, and its streams appear here:"]
    : ["No streams yet.", "Start a sensor, and its streams appear here:"];
  const key = lines.join();
  if (controls.empty.dataset.key === key) return;
  controls.empty.dataset.key = key;
  fill(controls.empty, lines.map((line) => make("p", {}, line)),
    store.state && total === 0 && make("pre", { tabIndex: 0 }, "sensor-publisher --signal walk --device left-wrist"));
}

let asked = new Map();
/** Has step-counter report the steps of the devices shown, if this page may. */
function subscribeSteps(shown) {
  const counter = store.state?.programs?.find((program) => program.name === "step-counter");
  if (!store.may("command") || !counter?.health) { if (counter && !counter.health) asked = new Map(); return; }
  for (const device of new Set(shown.filter((name) => /accel|motion/i.test(name)).map((name) => name.slice(0, name.indexOf("/"))))) {
    const at = asked.get(device);
    if (at !== undefined && performance.now() - at < 600_000) continue;
    asked.set(device, performance.now());
    call("steps.startUpdates", { device, updateOn: 1, name: "console", lifetime: 3600 }).then((reply) => {
      if (reply?.subscription && reply.subscription !== store.subscriptions.get(device)) {
        store.subscriptions.set(device, reply.subscription);
        store.steps.set(device, { numberOfSteps: reply.numberOfSteps, cadence: store.steps.get(device)?.cadence ?? null });
      }
      isDirty = true;
    }).catch(() => { /* a device without acceleration has no steps */ });
  }
}

const seer = new IntersectionObserver((entries) => {
  for (const entry of entries) {
    const card = [...cards.values()].find((candidate) => candidate.element === entry.target);
    if (!card) continue;
    card.isVisible = entry.isIntersecting;
    card.isDirty = true;
  }
}, { rootMargin: "100px" });
const measurer = new ResizeObserver(() => { for (const card of cards.values()) card.isDirty = true; });

/** A stream: its plot, its numbers, its gaps, its texts. */
class Card {
  constructor(series) {
    this.series = series;
    this.isVisible = true;
    this.isDirty = true;
    this.past = null;
    this.isComplete = false;
    const slash = series.name.indexOf("/");
    const title = make("h2", {}, make("span", { class: "device" }, series.name.slice(0, slash)), make("span", { class: "stream" }, series.name.slice(slash + 1)));
    this.state = make("span", { class: "badge", hidden: true });
    this.origin = make("span", { class: "badge", hidden: true });
    this.rate = make("span", { class: "rate" });
    this.grow = button("⤢", () => this.toggleSize(), { class: "quiet", "aria-label": `Enlarge the plot of ${series.name}`, "aria-pressed": "false" });
    this.group = make("select", { "aria-label": `Fields of ${series.name}`, hidden: true, onchange: () => { this.rebuild(); this.isDirty = true; } });
    this.values = make("ul", { class: "values", "aria-label": "Latest values" });
    this.canvas = make("canvas", { role: "img", "aria-label": series.name });
    this.states = make("ul", { class: "states", hidden: true, "aria-label": "State of the device" });
    this.texts = make("ol", { class: "texts", hidden: true, tabIndex: 0, "aria-label": `Records of ${series.name}` });
    this.gaps = make("span", { class: "gaps" });
    this.steps = make("span", { class: "steps" });
    this.note = make("p", { class: "note", hidden: true });
    this.element = make("article", { class: "card", "aria-label": series.name, data: { stream: series.name } },
      make("header", {}, title, this.origin, this.state, this.rate, this.grow),
      make("div", { class: "figures-row" }, this.values, this.group), this.canvas, this.texts, this.states, this.note,
      make("footer", {}, this.gaps, this.steps));
    this.canvas.addEventListener("pointermove", (event) => this.point(event));
    this.canvas.addEventListener("pointerleave", () => { if (!this.dragged) view.cursor = null; for (const card of cards.values()) card.isDirty = true; });
    this.canvas.addEventListener("pointerdown", (event) => { if (event.button === 0 && view.mode !== "spectrum") { this.dragged = { x: event.clientX, end: rightEdge() }; this.canvas.setPointerCapture(event.pointerId); } });
    this.canvas.addEventListener("pointerup", () => { this.dragged = null; });
    this.canvas.addEventListener("pointercancel", () => { this.dragged = null; });
    this.canvas.addEventListener("wheel", (event) => {
      if (event.ctrlKey || event.metaKey) { event.preventDefault(); zoom(Math.sign(event.deltaY)); }
      else if (Math.abs(event.deltaX) > Math.abs(event.deltaY)) { event.preventDefault(); moveTo(rightEdge() + event.deltaX / plotWidth(this.canvas) * view.window); }
    }, { passive: false });
    seer.observe(this.element);
    measurer.observe(this.canvas);
    this.rebuild();
    // What the publisher has of the time shown, so that a page that was just opened is full.
    if (!series.isFresh && series.count > 0) this.ask(rightEdge() - view.window, rightEdge());
  }

  remove() { this.request = null; seer.unobserve(this.element); measurer.unobserve(this.canvas); this.element.remove(); }

  toggleSize() {
    const isLarge = this.element.classList.toggle("large");
    this.grow.setAttribute("aria-pressed", String(isLarge));
  }

  /** The parts that depend on the fields alone. */
  rebuild() {
    const { series } = this;
    const isText = series.description?.types?.some((type) => type !== "number") || series.texts.length > 0;
    // Numbers of records stand in their list; only an axis of theirs is a signal.
    const groups = series.groups.filter((group) => !isText || group.fields.some((field) => /(^|\.)[xyz]$/.test(field)));
    this.isComplete = series.fields.length > 0 || series.texts.length > 0;
    this.group.hidden = groups.length < 2;
    if (this.group.options.length !== groups.length) fill(this.group, groups.map((group, index) => make("option", { value: String(index) }, group.name)));
    this.shown = groups[Number(this.group.value) || 0] ?? { fields: [] };
    const isMagnitude = view.mode === "magnitude" && this.shown.fields.length > 1;
    this.lines = isMagnitude ? [{ fields: this.shown.fields, color: "magnitude", label: "magnitude" }]
      : this.shown.fields.map((field, index) => ({ field, color: colorName(field, index), label: field.slice(field.lastIndexOf(".") + 1) }));
    this.numbers = this.lines.map((line) => make("span", { class: "number" }));
    fill(this.values, this.lines.map((line, index) => make("li", { class: `value ${line.color}` }, make("span", { class: "name" }, line.label), this.numbers[index])),
      series.description?.unit && this.lines.length > 0 && make("li", { class: "unit" }, series.description.unit));
    this.stateNumbers = new Map(series.states.map((field) => [field, make("span", { class: "number" })]));
    fill(this.states, [...this.stateNumbers].map(([field, number]) => make("li", {}, make("span", { class: "name" }, field), number)));
    this.states.hidden = this.stateNumbers.size === 0 || Boolean(isText);
    this.texts.hidden = !isText;
    this.canvas.hidden = this.lines.length === 0 && Boolean(isText);
    this.values.hidden = this.lines.length === 0;
    this.textVersion = -1;
    this.isDirty = true;
  }

  /** Gets what is needed to show a span. */
  ask(from, to) {
    const { series } = this;
    if (this.canvas.hidden && !series.fields.length) return;
    for (const hole of series.takeHoles(from, to)) backfill(series, hole.from, hole.to);
    if (view.end === null) {
      const start = Math.max(from - 1, now() - (series.description?.retention ?? 600));
      if (series.first > start + 1 && series.askedFrom > start + 1 && series.count > 0) {
        series.askedFrom = start;
        backfill(series, start, series.first);
      }
      return;
    }
    if (from >= series.first) { this.past = null; return; }
    const columns = Math.min(2000, Math.ceil(plotWidth(this.canvas)));
    const request = this.request = {};
    this.isAsking = true;
    this.problem = null;
    history(series.name, from, to, columns).then((past) => {
      if (this.request !== request) return;
      this.past = Series.of(series.name, past);
      this.past.span = { from, to };
    }).catch((error) => {
      if (this.request !== request) return;
      this.problem = error.message;
      // A console that has just started does not know every stream yet.
      if (error.status === 404) setTimeout(() => { if (this.request === request && view.end !== null) this.ask(from, to); }, untilDescribed);
    }).finally(() => { if (this.request === request) { this.isAsking = false; this.isDirty = true; } });
  }

  point(event) {
    const shown = plotOf(this.canvas);
    if (!shown || view.mode === "spectrum") return;
    const width = shown.right - shown.left;
    if (this.dragged) { moveTo(this.dragged.end - (event.clientX - this.dragged.x) / width * view.window); return; }
    if (event.pointerType === "touch") return;
    const x = event.clientX - this.canvas.getBoundingClientRect().left;
    view.cursor = x >= shown.left && x <= shown.right ? (x - shown.left) / width : null;
    for (const card of cards.values()) card.isDirty = true;
  }

  draw(from, to) {
    const { series } = this;
    const source = this.past?.span && this.past.span.from <= from + view.window * 0.01 && this.past.span.to >= to - view.window * 0.01 ? this.past : series;
    const key = `${view.mode}:${this.group.value}:${view.window}`;
    const cursor = view.cursor === null ? null : from + view.cursor * view.window;
    if (view.mode === "spectrum") {
      this.spectra = this.lines.map((line) => ({ color: line.color, spectrum: series.low.has(line.field) ? spectrum(series, line.field, to, Math.max(view.window, 2)) : null }));
      const empty = series.isColumns ? "this stream is too fast for a spectrum" : "too few samples for a spectrum";
      drawSpectra(this.canvas, this.spectra, { key, empty });
      return;
    }
    drawSeries(this.canvas, source, {
      from, to, key, cursor, lines: this.lines, gaps: [...series.gaps.values(), ...(source === series ? [] : source.gaps.values())],
      marks: marksOf(series.name),
      empty: this.isAsking ? "asking the publisher …" : view.end === null ? "no samples in this time" : this.problem ?? "the publisher has no samples for this time",
    });
  }

  /** What changes with each second, as text. */
  describe(from, to) {
    const { series } = this;
    const description = series.description ?? {};
    const cursor = view.cursor === null || view.mode === "spectrum" ? null : from + view.cursor * view.window;
    const at = cursor !== null || view.end !== null ? Math.min(series.count - 1, series.indexOf(cursor ?? to)) : series.count - 1;
    this.lines.forEach((line, index) => {
      if (view.mode === "spectrum") {
        const found = this.spectra?.[index]?.spectrum;
        write(this.numbers[index], found?.amplitude > 1e-9 ? `${value(found.peak)} Hz` : "–");
      } else if (at >= 0) {
        const one = (field) => (series.low.get(field)[at] + series.high.get(field)[at]) / 2;
        write(this.numbers[index], value(line.field ? (series.low.has(line.field) ? one(line.field) : NaN) : Math.hypot(...line.fields.map(one))));
      } else write(this.numbers[index], "–");
    });
    for (const [field, number] of this.stateNumbers) write(number, series.latest.has(field) ? String(Number(series.latest.get(field).toPrecision(4))) : "–");
    // What was not measured looks like it and is not.
    this.origin.hidden = !description.origin || description.origin === "measured";
    write(this.origin, description.origin ?? "");
    const isRunning = (description.state ?? "running") === "running";
    this.state.hidden = isRunning;
    if (!isRunning) write(this.state, description.state);
    this.state.className = description.state === "failed" ? "badge bad" : "badge";
    const age = now() - series.last - Math.max(0, series.lag);
    const isSilent = isRunning && series.count > 0 && age > Math.max(2, 5 * series.period);
    const rate = isSilent ? 0 : series.rate;
    const nominal = description.rate ? Number(description.rate.toPrecision(4)) : null;
    const measured = rate === null ? null : rate.toFixed(rate < 10 ? 1 : 0);
    // What is as it should be needs no second number.
    write(this.rate, measured === null ? (nominal ? `${value(nominal)} Hz` : "") : `${measured}${nominal && Number(measured) !== nominal ? ` of ${nominal}` : ""} Hz`);
    this.rate.classList.toggle("bad", isSilent || Boolean(rate !== null && description.rate && rate < description.rate * 0.9 && isRunning && series.arrivals.length > 20));
    const { gaps, open, lost } = series.missing;
    const parts = [];
    if (open > 0) parts.push(`${count(open)} missing`);
    if (lost > 0) parts.push(`${count(lost)} lost`);
    if (gaps > 0 && parts.length === 0) parts.push("samples missing");
    if (series.recovered) parts.push(`${count(series.recovered)} recovered`);
    write(this.gaps, gaps > 0 ? `${plural(gaps, "gap")}: ${parts.join(", ")}` : ["no gaps", ...parts].join(", "));
    this.gaps.classList.toggle("bad", gaps > 0);
    this.element.classList.toggle("has-gap", open > 0);
    const steps = store.steps.get(series.name.slice(0, series.name.indexOf("/")));
    const isCounted = steps && /accel|motion/i.test(series.name);
    write(this.steps, isCounted && Number.isFinite(steps.numberOfSteps) ? `${plural(steps.numberOfSteps, "step")}${steps.cadence ? `, ${steps.cadence.toFixed(2)} per second` : ""}` : "");
    const note = description.state === "failed" ? `Failed: ${description.reason ?? "no reason given"}`
      : isSilent ? `Silent for ${duration(Math.round(age))}.`
      : Math.abs(series.lag) > 5 ? `The times of this device are ${duration(Math.abs(series.lag))} ${series.lag > 0 ? "behind" : "ahead of"} the console's clock.` : "";
    this.note.hidden = note === "";
    write(this.note, note);
    if (!this.texts.hidden && this.textVersion !== series.version && view.end === null) {
      this.textVersion = series.version;
      fill(this.texts, series.texts.slice(-50).reverse().map(({ time, row }) => make("li", {},
        make("time", {}, timeText(time, 1)), row.map(([field, entry]) => make("span", { class: "pair" }, make("span", { class: "name" }, field), make("span", { class: "text" }, anyText(entry)))))));
    }
    const spoken = `${series.name}, ${this.lines.map((line, index) => `${line.label} ${this.numbers[index].textContent}`).join(", ")} ${description.unit ?? ""}, ${this.gaps.textContent}`;
    if (this.canvas.getAttribute("aria-label") !== spoken) this.canvas.setAttribute("aria-label", spoken);
  }
}

/** Annotations and steps of recordings that include a stream, as marks. */
function marksOf(name) {
  const marks = [];
  for (const event of store.events) {
    if (event.schema !== "recording.v1") continue;
    if (event.change === "annotation" && event.annotation?.label && (!event.annotation.stream || event.annotation.stream === name)) {
      marks.push({ time: Date.parse(event.annotation.from ?? event.annotation.date) / 1000, to: Date.parse(event.annotation.to) / 1000, text: event.annotation.label, color: "mark" });
    } else if (event.change === "step") marks.push({ time: Date.parse(event.date) / 1000, text: event.step, color: "muted" });
  }
  return marks;
}

let describedAt = 0;
function frame(at) {
  requestAnimationFrame(frame);
  if (!isOpen || document.hidden || at - lastFrame < frameTime()) return;
  lastFrame = at;
  const to = rightEdge(), from = to - view.window;
  const isTextDue = at - describedAt > 250 || isDirty;
  if (isTextDue) { describedAt = at; isDirty = false; describe(to); }
  for (const card of cards.values()) {
    if (!card.isVisible) continue;
    // A plot moves when it has moved by a part of a pixel; a spectrum four times a second.
    const shown = plotOf(card.canvas);
    const hasMoved = view.mode === "spectrum" ? isTextDue && view.end === null : !shown || Math.abs(to - shown.to) / view.window * plotWidth(card.canvas) > 0.4;
    if (card.isDirty ? view.mode !== "spectrum" || isTextDue || !shown : hasMoved) {
      card.isDirty = false;
      if (!card.canvas.hidden) card.draw(from, to);
    }
    if (isTextDue) card.describe(from, to);
  }
}

function describe(to) {
  const streams = store.state?.streams ?? [];
  let missing = 0;
  for (const { series } of cards.values()) { const { open, lost } = series.missing; missing += open + lost; }
  const running = streams.filter((stream) => stream.state === "running").length;
  const parts = [plural(streams.length, "stream"), `${running} running`];
  if (cards.size > 0) parts.push(missing > 0 ? `${count(missing)} samples missing` : "no gaps");
  if (store.behind > 0) parts.push(`this page was too slow for ${count(store.behind)} samples`);
  write(controls.summary, streams.length > 0 ? parts.join(" · ") : "");
  const back = view.end === null ? 0 : now() - to;
  if (document.activeElement !== controls.slider || view.end === null) {
    const farthest = -Math.ceil(reach());
    if (Number(controls.slider.min) !== farthest) controls.slider.min = String(farthest);
    controls.slider.value = String(-back);
  }
  const where = view.end === null ? "now" : `${timeText(to)} (${duration(Math.round(back))} ago)`;
  write(controls.where, where);
  controls.slider.setAttribute("aria-valuetext", where);
}

let announcedAt = -Infinity;
function announceGap(series, gap) {
  isDirty = true;
  const card = cards.get(series.name);
  if (card) card.isDirty = true;
  // A flood of gaps is not read out one by one.
  if (performance.now() - announcedAt < 2000) return;
  announcedAt = performance.now();
  announce(gap.state === "recovered" ? `${series.name}: ${plural(gap.count, "sample")} recovered` : gap.state === "lost" ? `${series.name}: ${plural(gap.count, "sample")} lost` : `${series.name}: ${plural(gap.count, "sample")} missing`);
}
