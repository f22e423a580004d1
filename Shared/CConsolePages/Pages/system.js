// The view of the programs: how they are, the disk, thresholds, queues, clocks, and what they report.
import { button, facts, fill, make, table, tell, write } from "./dom.js";
import { call, get } from "./api.js";
import { on, store } from "./store.js";
import { bytes, date, duration, measure, reason, text } from "./format.js";

let root, parts, isOpen = false, timer = null;

/** Builds the view. */
export function setUpSystem(section) {
  root = section;
  parts = {
    programs: make("div", { class: "tiles" }), storage: make("div", {}), clocks: make("div", {}), more: make("div", {}), events: make("ol", { class: "events", tabIndex: 0, "aria-label": "Events" }),
    version: make("p", { class: "hint" }), phone: button("Add a phone", addPhone, { hidden: true }),
  };
  fill(root, make("h1", { class: "unseen" }, "System"), make("h2", {}, "Programs"), parts.programs, make("div", { class: "buttons" }, parts.phone), make("h2", {}, "Storage"), parts.storage,
    make("h2", {}, "Clocks"), parts.clocks, parts.more, make("h2", {}, "Events"), parts.events, parts.version);
  on("state", () => { if (isOpen) show(); });
  on("bus", () => { if (isOpen) showEvents(); });
}

/** Shows it or leaves it. */
export function openSystem(isShown) {
  isOpen = isShown;
  clearTimeout(timer);
  if (!isShown) return;
  show();
  showEvents();
  load();
}

/** Shows the link that makes a phone a sensor, as a code for its camera. */
async function addPhone() {
  try {
    const { link, code } = await call("phones.link");
    tell("Add a phone", make("p", {}, "Point the phone's camera at the code, and press Start on the page that opens."), drawing(code), make("p", {}, make("a", { href: link, rel: "noreferrer" }, link)));
  } catch (error) { tell("Add a phone", make("p", { class: "problem" }, `There is no link for phones: ${error.message}`)); }
}

/** A QR code with the margin that cameras need. */
function drawing(code) {
  const margin = 4, size = code.length + 2 * margin;
  const canvas = make("canvas", { class: "code", width: size, height: size, role: "img", "aria-label": "QR code of the link" });
  const pen = canvas.getContext("2d");
  pen.fillStyle = "#fff";
  pen.fillRect(0, 0, size, size);
  pen.fillStyle = "#000";
  code.forEach((row, y) => [...row].forEach((module, x) => { if (module === "1") pen.fillRect(x + margin, y + margin, 1, 1); }));
  return canvas;
}

function show() {
  const { state } = store;
  parts.phone.hidden = !store.may("command");
  if (!state) { fill(parts.programs, make("p", { class: "hint" }, "Waiting for the console …")); return; }
  for (const program of state.programs ?? []) {
    let tile = [...parts.programs.children].find((element) => element.dataset.name === program.name);
    if (!tile) {
      tile = make("article", { class: "tile", data: { name: program.name } });
      if (parts.programs.firstElementChild && !parts.programs.firstElementChild.dataset.name) fill(parts.programs);
      parts.programs.append(tile);
    }
    const { health } = program;
    const isGood = health && ["ok", "healthy", "good", "ready"].includes(health.status);
    fill(tile, make("header", {}, make("h3", {}, program.name), make("span", { class: !health ? "badge bad" : isGood ? "badge good" : "badge warn" }, health ? health.status : "no answer")),
      make("p", { class: "hint" }, health ? `${health.version ?? ""} · up ${duration(health.uptime)}` : `asked at ${program.endpoint}`),
      (health?.reasons ?? []).map((reason) => make("p", { class: "problem" }, reason)),
      health?.measures && make("details", { open: tile.dataset.open === "true", ontoggle: (event) => { tile.dataset.open = String(event.target.open); } }, make("summary", {}, "Measures"),
        facts(Object.entries(health.measures).sort(([a], [b]) => a < b ? -1 : 1).map(([name, number]) => measure(name, number)))));
  }
  const streams = state.streams ?? [];
  const rows = streams.map((stream) => {
    return [`${stream.device}/${stream.stream}`, stream.source ?? "", stream.clock?.date ? date(stream.clock.date) : "–", Number.isFinite(stream.retention) ? duration(stream.retention) : "unlimited"];
  });
  const scroll = parts.clocks.querySelector(".scroller")?.scrollLeft ?? 0;
  fill(parts.clocks, rows.length > 0 ? table("Clocks of the streams", ["Stream", "Publisher", "Its clock", "Keeps"], rows) : make("p", { class: "hint" }, "No streams."));
  const scroller = parts.clocks.querySelector(".scroller");
  if (scroller) scroller.scrollLeft = scroll;
  write(parts.version, `console ${state.version ?? ""} · this page may ${store.roles.join(", ")}`);
}

async function load() {
  try { showSystem(await get("/api/system")); } catch (error) { showNoStorage(error.message); }
  if (isOpen) timer = setTimeout(load, 5000);
}

function showNoStorage(why) { fill(parts.storage, make("p", { class: "hint" }, `The storage can't be shown: ${why}`)); }

/** Whatever the server tells: storage as bars, all else as tables by its names. */
function showSystem(system) {
  const { date: at, programs, health, disk, usage, thresholds, ...others } = system ?? {};
  const used = usage ?? disk;
  if (used && Number.isFinite(used.totalBytes ?? used.freeBytes)) showStorage(used, thresholds ?? used.thresholds ?? {});
  else showNoStorage("log-manager does not answer, and the console can't read its data directory.");
  fill(parts.more, Object.entries(others).filter(([, entry]) => entry && typeof entry === "object").map(([name, entry]) => [make("h2", {}, titles[name] ?? heading(name)), generic(name, entry)]));
}

/** The streams' own clocks stand above already. */
const titles = { clocks: "Clock offsets" };

const heading = (name) => { const words = name.replace(/([a-z])([A-Z])/g, "$1 $2").toLowerCase(); return words[0].toUpperCase() + words.slice(1); };

function generic(name, entry) {
  if (Array.isArray(entry)) {
    const rows = entry.slice(0, 200);
    if (rows.length === 0) return make("p", { class: "hint" }, "None.");
    if (rows.every((row) => typeof row?.queue === "string" && "value" in row)) {
      return table(heading(name), ["Program", "What waits", "How much"], rows.map((row) => [shown("program", row.program), ...measure(row.queue, row.value)]));
    }
    if (rows.every((row) => row && typeof row === "object" && !Array.isArray(row))) {
      // A program's name is what a row is about.
      const keys = [...new Set([...("program" in rows[0] ? ["program"] : []), ...rows.flatMap((row) => Object.keys(row))])];
      return table(heading(name), keys.map((key) => heading(measure(key.replace(/Date$/, ""), 0)[0])), rows.map((row) => keys.map((key) => shown(key, row[key]))));
    }
    return make("ul", {}, rows.map((row) => make("li", {}, text(row))));
  }
  const simple = Object.entries(entry).filter(([, value]) => value === null || typeof value !== "object");
  const nested = Object.entries(entry).filter(([, value]) => value !== null && typeof value === "object");
  return make("div", {}, simple.length > 0 && facts(simple.map(([key, value]) => [measure(key, value)[0], shown(key, value)])),
    nested.map(([key, value]) => make("div", {}, make("h3", {}, key), generic(key, value))));
}

function shown(key, value) {
  if (value === null || value === undefined) return "–";
  if (typeof value === "number") return measure(key, value)[1];
  if (typeof value === "string" && /[dD]ate$/.test(key)) return date(value);
  return typeof value === "object" ? Object.entries(value).map(([name, entry]) => measure(name, entry).join(" ")).join(" · ") : text(value);
}

function showStorage(usage, thresholds) {
  const bar = (label, used, limit, hint) => make("div", { class: "bar-row" }, make("span", { class: "label" }, label),
    make("meter", { min: 0, max: limit, value: Math.min(used, limit), high: limit * 0.9, optimum: 0, "aria-label": label }), make("span", {}, hint));
  const isLow = usage.freeBytes < thresholds.minimumFreeBytes;
  const logs = usage.logs ?? [];
  fill(parts.storage,
    facts([["Free on the disk", bytes(usage.freeBytes)], ["Finished files", bytes(usage.totalBytes)], ["Not uploaded", bytes(usage.pendingUploadBytes)], ["Being written", Number.isFinite(usage.currentBytes) ? bytes(usage.currentBytes) : null], ["Others", Number.isFinite(usage.otherBytes) ? bytes(usage.otherBytes) : null],
      ["Keep free", thresholds.minimumFreeBytes > 0 ? bytes(thresholds.minimumFreeBytes) : null]]),
    isLow && make("p", { class: "problem" }, "Free space is below the limit: recordings stop. Remove uploaded files, or free some space."),
    // 0 is no threshold.
    thresholds.totalBytes > 0 && bar("Finished files", usage.totalBytes, thresholds.totalBytes, `of ${bytes(thresholds.totalBytes)}`),
    thresholds.pendingUploadBytes > 0 && bar("Not uploaded", usage.pendingUploadBytes, thresholds.pendingUploadBytes, `of ${bytes(thresholds.pendingUploadBytes)}`),
    logs.length > 0 && make("details", {}, make("summary", {}, `By log (${logs.length})`), table("Bytes by log", ["Log", "Files", "Finished", "Not uploaded", "Being written"],
      logs.slice(0, 500).map((log) => [log.name, log.files, bytes(log.bytes), bytes(log.pendingBytes), Number.isFinite(log.currentBytes) ? bytes(log.currentBytes) : "–"]))));
}

/** An event in words; all its texts stay texts. */
function sentence(event) {
  const of = event.session ?? event.device ?? event.name ?? "";
  const what = event.annotation ? `“${event.annotation.label}”` : event.gap ? `${event.stream ?? ""} ${event.gap.count || "?"} samples, ${reason(event.gap.reason)}` : event.path ?? event.reason ?? event.step ?? event.threshold ?? (Number.isFinite(event.numberOfSteps) ? `${event.numberOfSteps} steps` : "");
  return [of, event.change ?? "finished", what].filter(Boolean).join(" · ");
}

function showEvents() {
  const events = store.events.filter((event) => event.schema !== "steps.v1" || event.change !== "update").slice(-100).reverse();
  const key = `${events.length}:${events[0]?.date}:${events[0]?.sequence}`;
  if (parts.events.dataset.key === key) return;
  parts.events.dataset.key = key;
  fill(parts.events, events.length === 0 ? make("li", { class: "hint" }, "No events since this page was opened.") : events.map((event) => make("li", {}, make("time", {}, event.date ? date(event.date).slice(11) : "–"), make("span", { class: "name" }, event.schema ?? ""), make("span", { class: "text" }, sentence(event)))));
}
