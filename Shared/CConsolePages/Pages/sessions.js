// The list of stored sessions, and the page of one.
import { button, confirm, facts, fill, make, say, table, write } from "./dom.js";
import { call, get, post, query } from "./api.js";
import { drawSeries, plotOf, plotWidth } from "./plot.js";
import { Series } from "./series.js";
import { colorName, onColors } from "./theme.js";
import { now, on, store } from "./store.js";
import { bytes, count, date, duration, plural, reason, seconds, time as timeText, value } from "./format.js";

let root, isOpen = false, opened = null, plots = [];
/** Controls of the session's page that only some roles may use, each with its role. */
let controls = [];

/** Builds the view. */
export function setUpSessions(section) {
  root = section;
  on("bus", (event) => {
    if (!isOpen || opened !== null) return;
    const isNews = (event.schema === "recording.v1" && ["status", "report", "discard"].includes(event.change)) || event.schema === "archive.v1";
    if (isNews) reloadSoon();
  });
  on("state", showControls);
  onColors(redraw);
  new ResizeObserver(redraw).observe(section);
}

/** Shows the list, or a session; or leaves. */
export function openSessions(isShown, session = null) {
  isOpen = isShown;
  // It is loaded again when it is shown again: it may have ended since.
  if (!isShown) { opened = null; return; }
  if (session === null) { opened = null; plots = []; showList(); } else if (session !== opened) { opened = session; showSession(session); }
}

// The list

let list = null, reloadTimer = null, request = null;

function reloadSoon() { clearTimeout(reloadTimer); reloadTimer = setTimeout(load, 300); }

function showList() {
  if (list && root.contains(list.element)) { load(); return; }
  list = {
    search: make("input", { type: "search", placeholder: "Search sessions", "aria-label": "Search sessions", oninput: reloadSoon }),
    status: make("p", { class: "summary", role: "status" }),
    rows: make("ul", { class: "session-list", "aria-label": "Sessions" }),
    more: button("Show more", () => load(list.next), { hidden: true }),
    next: null, sessions: [],
  };
  list.element = make("div", {}, make("div", { class: "toolbar" }, make("h1", {}, "Sessions"), list.search), list.status, list.rows, list.more);
  fill(root, list.element);
  load();
}

async function load(after = null) {
  request?.abort();
  const mine = request = new AbortController();
  const search = list.search.value.trim();
  try {
    const page = await get(`/api/sessions${query({ search, after })}`, mine.signal);
    if (mine.signal.aborted) return;
    list.sessions = after ? [...list.sessions, ...page.sessions] : page.sessions;
    list.next = page.next ?? null;
    list.more.hidden = !list.next;
    fill(list.rows, list.sessions.map(row));
    write(list.status, list.sessions.length === 0 ? (search ? "No session matches." : "No sessions yet. Record one, and it appears here.") : `${plural(list.sessions.length, "session")}${list.next ? " and more" : ""}`);
  } catch (error) {
    if (error.name !== "AbortError") write(list.status, `The sessions can't be shown: ${error.message}`);
  }
}

function wholeness(session) {
  if (session.status === "running" || (!session.endDate && session.status !== "cancelled")) return make("span", { class: "badge live" }, "recording");
  if (session.status === "cancelled") return make("span", { class: "badge" }, "cancelled");
  const whole = session.whole ?? session.isWhole;
  return whole === true ? make("span", { class: "badge good" }, "whole") : whole === false ? make("span", { class: "badge bad" }, "not whole") : make("span", { class: "badge" }, session.status ?? "unknown");
}

function archiveBadge(session) {
  return session.archive && make("span", { class: session.receipt ? "badge good" : "badge" }, `archive ${session.receipt ? "uploaded" : "made"}`);
}

function row(session) {
  const length = seconds(session.endDate) - seconds(session.startDate);
  const gaps = Array.isArray(session.gaps) ? session.gaps.length : session.gaps;
  const figures = [
    Number.isFinite(length) && duration(length), Number.isFinite(session.samples) && plural(session.samples, "sample"),
    Number.isFinite(session.bytes) && bytes(session.bytes), Number.isFinite(gaps) && (gaps > 0 ? plural(gaps, "gap") : "no gaps"),
  ].filter(Boolean);
  return make("li", {}, make("a", { href: `#/sessions/${encodeURIComponent(session.session)}` },
    make("span", { class: "session-name" }, session.session), make("span", { class: "when" }, date(session.startDate)),
    make("span", { class: "figures" }, figures.join(" · ")), make("span", { class: "badges" }, wholeness(session), archiveBadge(session))));
}

// One session

/** What this page may do is known once the state is. */
function showControls() {
  for (const [role, control] of controls) control.hidden = !store.may(role);
}

async function showSession(name) {
  plots = [];
  const path = `/api/sessions/${encodeURIComponent(name)}`;
  const page = make("div", { class: "session" }, make("p", {}, make("a", { href: "#/sessions" }, "← All sessions")), make("h1", { class: "session-name" }, name), make("p", { class: "summary", role: "status" }, "Opening …"));
  fill(root, page);
  let detail;
  try {
    detail = await get(path);
  } catch (error) {
    fill(page.lastChild, error.message);
    return;
  }
  if (opened !== name || page.parentNode !== root) return;
  // A session that runs has no report yet.
  const report = detail.report ?? detail.summary ?? {};
  const streams = (report.streams ?? []).map((stream) => ({ received: stream.samples, ...stream }));
  const from = seconds(report.startDate), to = seconds(report.endDate);
  const isRunning = !report.endDate || report.status === "running";
  const gaps = (detail.gaps ?? streams.flatMap((stream) => (stream.gaps ?? []).map((gap) => ({ stream: stream.stream, gap }))));
  const annotations = detail.annotations ?? report.annotations ?? [];
  const total = (key) => streams.reduce((sum, stream) => sum + (stream[key] ?? 0), 0);
  // A step lasts until the next one.
  const steps = (detail.steps ?? []).map((step, index, all) => ({ step: step.step, from: seconds(step.date), to: seconds(all[index + 1]?.date ?? report.endDate) }));
  const verified = make("p", { class: "verified", role: "status" });
  const archiving = button("Archive", () => archive(name));
  const discarding = button("Discard …", () => discard(name), { class: "danger" });
  controls = [["command", archiving], ["delete", discarding]];
  showControls();

  fill(page,
    make("p", {}, make("a", { href: "#/sessions" }, "← All sessions")),
    make("div", { class: "title" }, make("h1", { class: "session-name" }, name), wholeness({ ...report, whole: report.isWhole }), archiveBadge(detail) ?? archiveBadge(report)),
    facts([
      ["Started", report.startDate && date(report.startDate)], ["Length", Number.isFinite(to - from) ? duration(to - from) : isRunning ? "still recording" : null],
      ["Task", report.task], ["Samples", streams.length > 0 ? count(total("received")) : null], ["Recovered", streams.length > 0 ? count(total("recovered")) : null], ["Lost", streams.length > 0 ? count(total("lost")) : null],
      ["Size", streams.length > 0 ? bytes(total("bytes")) : null],
      ["Durable after", Number.isFinite(report.commitLatency?.median) ? `${duration(report.commitLatency.median)} (99 %: ${duration(report.commitLatency.p99)})` : null],
      ["Data", [...new Set(streams.map((stream) => stream.origin).filter(Boolean))].join(", ")],
      ["Failures", (report.failures ?? []).join("; ")],
    ]),
    make("div", { class: "buttons" },
      button("Verify now", (event) => verify(path, verified, event.target), { class: "main" }),
      make("a", { class: "button", href: `${path}/report`, target: "_blank", rel: "noopener" }, "Report"),
      !isRunning && archiving, discarding),
    verified);
  if (streams.length > 0) page.append(overview(path, streams, { from, to, annotations, steps }));
  if (steps.length > 0) {
    page.append(make("h2", {}, "Steps"), table("Steps", ["Step", "From", "To", "Length"], steps.map(({ step, from: begin, to: end }) => [
      step, timeText(begin, 1), Number.isFinite(end) ? timeText(end, 1) : "–", Number.isFinite(end) ? duration(end - begin) : "–"])));
  }
  if (annotations.length > 0) {
    page.append(make("h2", {}, "Annotations"), table("Annotations", ["No.", "Time", "Label", "To", "Stream", "Note", "Corrects"], annotations.map((entry) => [
      entry.number, timeText(seconds(entry.from ?? entry.date), 1), entry.label === "" ? make("em", {}, "withdrawn") : entry.label,
      entry.to ? timeText(seconds(entry.to), 1) : "", entry.stream ?? "", entry.note ?? "", entry.corrects ?? ""])));
  }
  page.append(make("h2", {}, "Gaps"), gaps.length === 0 ? make("p", { class: "hint" }, "None: every expected sample is there.") : table("Gaps", ["Stream", "First missing", "Samples", "Reason", "Found"], gaps.map(({ stream, gap }) => [
    stream, count(gap.from), gap.count > 0 ? count(gap.count) : "unknown", reason(gap.reason), gap.date ? timeText(seconds(gap.date), 1) : ""])));
  if (streams.length > 0) {
    page.append(make("h2", {}, "Streams"), table("Streams", ["Stream", "Expected", "Received", "Recovered", "Lost", "Paused", "Rate", "Size", "Export"], streams.map((stream) => [
      stream.stream, count(stream.expected), count(stream.received ?? 0), count(stream.recovered ?? 0), count(stream.lost ?? 0), count(stream.paused ?? 0),
      Number.isFinite(stream.actualRate) ? `${value(stream.actualRate)}${stream.nominalRate ? ` of ${stream.nominalRate}` : ""} Hz` : "–", bytes(stream.bytes ?? 0),
      make("a", { href: `${path}/export${query({ format: "csv", stream: stream.stream })}`, download: "", "aria-label": `Export ${stream.stream} as CSV` }, "CSV")])));
  }
  if (report.clocks?.length > 0) {
    page.append(make("h2", {}, "Clocks"), table("Clocks of the publishers", ["Publisher", "Ahead at first", "Ahead at last", "Drift", "Uncertainty"], report.clocks.map((clock) => [
      clock.endpoint, duration(clock.first), duration(clock.last), Number.isFinite(clock.drift) ? `${(clock.drift * 1e6).toFixed(1)} ppm` : "–", duration(clock.uncertainty)])));
  }
  page.append(make("h2", {}, "Files"), table("Files", ["File", "Size", "SHA-256"], detail.files.map((file) => [
    make("a", { href: `${path}/files/${encodeURIComponent(file.name)}`, download: file.name }, file.name), bytes(file.size ?? file.bytes), make("code", { title: file.sha256 }, file.sha256 ? `${file.sha256.slice(0, 12)}…` : "–")])));
  if (isRunning) return;
  page.append(make("h2", {}, "Export"));
  page.append(make("div", { class: "buttons" }, [["mcap", "MCAP, for Foxglove"], ["xdf", "XDF, for Lab Streaming Layer tools"]].map(([format, label]) =>
    make("a", { class: "button", href: `${path}/export${query({ format })}`, download: "" }, label))));
  page.append(make("p", { class: "hint" }, "For all formats, with a list of what was read and what is missing, run this on the recorder's machine:"), make("pre", { tabIndex: 0 }, `recorder export data/recordings/${name} --to exports --format bids`));
}

async function verify(path, output, control) {
  control.disabled = true;
  write(output, "Reading every file …");
  output.className = "verified";
  try {
    const { whole, problems = [] } = await post(`${path}/verify`);
    output.className = `verified ${whole ? "good" : "bad"}`;
    fill(output, whole ? "Verified: whole, and every file is as it was written." : "Verified: not whole.", problems.length > 0 && make("ul", {}, problems.slice(0, 50).map((problem) => make("li", {}, typeof problem === "string" ? problem : JSON.stringify(problem)))));
  } catch (error) {
    output.className = "verified bad";
    write(output, `It was not verified: ${error.message}`);
  } finally { control.disabled = false; }
}

async function archive(name) {
  try { await call("archive.create", { session: name }); say(`${name} is being archived.`); } catch (error) { say(`It was not archived: ${error.message}`, true); }
}

async function discard(name) {
  if (!await confirm(`Discard ${name}?`, "All its files, annotations and archives are removed. This cannot be undone.", "Discard it")) return;
  try {
    await call("recording.discard", { session: name });
  } catch (error) {
    if (error.status !== 409) { say(`It was not discarded: ${error.message}`, true); return; }
    // The recorder refuses what runs or has no receipt, and says so.
    if (!await confirm(`Discard ${name} anyway?`, error.message, "Discard it anyway")) return;
    try { await call("recording.discard", { session: name, force: true }); } catch (second) { say(`It was not discarded: ${second.message}`, true); return; }
  }
  say(`${name} was discarded.`);
  location.hash = "#/sessions";
}

/** The plots of all streams over the whole length, with one span of time for all. */
function overview(path, streams, { from, to, annotations, steps }) {
  const end = Number.isFinite(to) ? to : now();
  const span = { from, to: Math.max(end, from + 0.1), whole: [from, Math.max(end, from + 0.1)] };
  const where = make("output", { class: "where" });
  const marks = [
    ...steps.map((step) => ({ time: step.from, text: step.step, color: "muted" })),
    ...annotations.filter((entry) => entry.label).map((entry) => ({ time: seconds(entry.from ?? entry.date), to: seconds(entry.to), text: entry.label, stream: entry.stream, color: "mark" })),
  ].sort((a, b) => a.time - b.time);
  const mine = plots = streams.slice(0, 60).map((stream) => {
    const canvas = make("canvas", { role: "img", "aria-label": `Overview of ${stream.stream}` });
    const state = make("span", { class: "rate" });
    return { stream: stream.stream, canvas, state, source: null, element: make("article", { class: "card wide" }, make("header", {}, make("h3", {}, stream.stream), state), canvas), span, marks };
  });
  const go = (begin, finish) => {
    const length = Math.min(span.whole[1] - span.whole[0], Math.max(0.1, finish - begin));
    span.from = Math.max(span.whole[0], Math.min(begin, span.whole[1] - length));
    span.to = span.from + length;
    isWhole.disabled = length >= span.whole[1] - span.whole[0] - 1e-6;
    zoomOut.disabled = isWhole.disabled;
    write(where, `${timeText(span.from, 1)} – ${timeText(span.to, 1)} (${duration(length)})`);
    redraw();
    clearTimeout(go.timer);
    go.timer = setTimeout(() => { for (const plot of mine) loadPlot(plot, path, span); }, 120);
  };
  const zoom = (factor) => { const middle = (span.from + span.to) / 2, half = (span.to - span.from) / 2 * factor; go(middle - half, middle + half); };
  const scroll = (part) => { const step = (span.to - span.from) * part; go(span.from + step, span.to + step); };
  const zoomOut = button("−", () => zoom(2), { "aria-label": "Zoom out" });
  const isWhole = button("Whole", () => go(...span.whole), { "aria-label": "Show the whole session" });
  for (const plot of mine) {
    let start = null;
    plot.canvas.addEventListener("pointerdown", (event) => { start = event.clientX; plot.canvas.setPointerCapture(event.pointerId); });
    plot.canvas.addEventListener("pointerup", (event) => {
      const shown = plotOf(plot.canvas);
      if (start === null || !shown) return;
      const left = plot.canvas.getBoundingClientRect().left + shown.left, scale = (span.to - span.from) / (shown.right - shown.left);
      const [a, b] = [start, event.clientX].map((x) => span.from + (x - left) * scale).sort((x, y) => x - y);
      if (Math.abs(event.clientX - start) > 8) go(a, b);
      start = null;
    });
    plot.canvas.addEventListener("pointercancel", () => { start = null; });
  }
  const element = make("div", {}, make("h2", {}, "Overview"),
    make("div", { class: "toolbar", role: "group", "aria-label": "Overview" },
      make("div", { class: "group" }, zoomOut, button("+", () => zoom(0.5), { "aria-label": "Zoom in" }), isWhole),
      make("div", { class: "group" }, button("◀", () => scroll(-0.5), { "aria-label": "Earlier" }), button("▶", () => scroll(0.5), { "aria-label": "Later" })), where),
    make("p", { class: "hint" }, "Drag over a plot to zoom in."), mine.map((plot) => plot.element));
  requestAnimationFrame(() => go(...span.whole));
  return element;
}

async function loadPlot(plot, path, span) {
  const { from, to } = span;
  plot.request?.abort();
  const request = plot.request = new AbortController();
  try {
    const past = await get(`${path}/overview${query({ stream: plot.stream, from: from.toFixed(3), to: to.toFixed(3), columns: Math.min(2000, Math.ceil(plotWidth(plot.canvas))) })}`, request.signal);
    plot.source = Series.of(plot.stream, past);
    const fields = plot.source.groups[0]?.fields ?? [];
    plot.lines = fields.map((field, index) => ({ field, color: colorName(field, index) }));
    write(plot.state, plot.source.gaps.size > 0 ? `${plural(plot.source.gaps.size, "gap")} here` : "no gaps here");
  } catch (error) {
    if (error.name === "AbortError") return;
    plot.problem = error.message;
  }
  draw(plot);
}

function draw(plot) {
  if (!plot.canvas.isConnected) return;
  drawSeries(plot.canvas, plot.source ?? Series.of(plot.stream, {}), {
    from: plot.span.from, to: plot.span.to, lines: plot.lines ?? [], key: `${plot.span.from}:${plot.span.to}`,
    gaps: [...(plot.source?.gaps.values() ?? [])], marks: plot.marks.filter((mark) => !mark.stream || mark.stream === plot.stream),
    empty: plot.problem ?? (plot.source ? "no samples in this time" : "opening …"),
  });
}

function redraw() { for (const plot of plots) draw(plot); }
