// The view that starts, steers and ends recordings.
import { announce, button, confirm, field, fill, make, say, write } from "./dom.js";
import { call, get } from "./api.js";
import { now, on, store } from "./store.js";
import { remember, remembered } from "./theme.js";
import { bytes, clock, count, duration, plural, time as timeText, typedDuration } from "./format.js";

let root, form, panel, isOpen = false;
/** The session that the view shows; null for the form. */
let current = null;
/** Its annotations that this page heard of, oldest first. */
const annotations = new Map();
/** What this page asked for: steps and labels are the page's, the recorder knows the step that is under way. */
let plan = remembered("plan", { task: "Walk", steps: "outbound\nreturn", duration: "", before: "", labels: "fall\nstumble\nsit" });
let excluded = new Set();

const lines = (text) => text.split(/\n/).map((line) => line.trim()).filter(Boolean);

/** Builds the view. */
export function setUpRecord(section) {
  root = section;
  form = makeForm();
  panel = makePanel();
  fill(section, make("h1", { class: "unseen" }, "Record"), form.element, panel.element);
  on("state", show);
  on("connection", show);
  on("bus", take);
  show();
  setInterval(() => { if (isOpen && !document.hidden) tick(); }, 100);
}

/** Shows it or leaves it. */
export function openRecord(isShown) {
  isOpen = isShown;
  if (isShown) { show(); tick(); }
}

/** The keys of the view: 1 to 9 annotate, n is the next step. */
export function recordKey(key) {
  if (!current) return false;
  if (/^[1-9]$/.test(key)) {
    const label = lines(plan.labels)[Number(key) - 1];
    if (label) annotate(label);
    return Boolean(label);
  }
  if (key === "n" || key === "N") { if (!panel.next.disabled) nextStep(); return true; }
  if (key === "p" || key === "P") { if (!panel.pause.disabled) pause(); return true; }
  return false;
}

// The form

function makeForm() {
  const parts = {
    streams: make("fieldset", { class: "streams" }, make("legend", {}, "Streams")),
    task: make("input", { name: "task", value: plan.task, maxLength: 100, autocomplete: "off" }),
    steps: make("textarea", { name: "steps", rows: 3, value: plan.steps }),
    duration: make("input", { name: "duration", value: plan.duration, placeholder: "until stopped", autocomplete: "off", inputMode: "text" }),
    before: make("input", { name: "before", value: plan.before, placeholder: "now", autocomplete: "off" }),
    labels: make("textarea", { name: "labels", rows: 3, value: plan.labels }),
    session: make("input", { name: "session", placeholder: "a name from date and time", maxLength: 100, autocomplete: "off" }),
    start: make("button", { type: "submit", class: "main start" }, "Start recording"),
    problem: make("p", { class: "problem", role: "alert" }),
    refused: make("p", { class: "note" }),
  };
  parts.element = make("form", { class: "sheet", noValidate: true, onsubmit: (event) => { event.preventDefault(); start(); }, oninput: rememberPlan },
    make("h2", {}, "New recording"), parts.streams,
    make("div", { class: "columns" },
      field("Task", parts.task, "What the person does."),
      field("Session", parts.session, "Optional: letters, digits and dashes."),
      field("Duration", parts.duration, "60s, 5m, 1h; empty: until you stop it."),
      field("Before", parts.before, "Begin in the past: 30s."),
      field("Steps", parts.steps, "One per line, in order."),
      field("Labels", parts.labels, "One per line; keys 1 to 9 annotate with them.")),
    parts.problem, parts.refused, make("div", { class: "buttons" }, parts.start));
  return parts;
}

function rememberPlan() {
  plan = { task: form.task.value, steps: form.steps.value, duration: form.duration.value, before: form.before.value, labels: form.labels.value };
  remember("plan", plan);
}

let streamsKey = "";
function showStreams() {
  // An excluded stream that is unavailable is listed too: it would not be recorded when it returns.
  const states = new Map([...excluded].map((name) => [name, "unavailable"]));
  for (const stream of store.state?.streams ?? []) states.set(`${stream.device}/${stream.stream}`, stream.state);
  const names = [...states].sort(([a], [b]) => a < b ? -1 : 1);
  const key = names.map(([name, state]) => `${name}=${state}`).join("\n");
  if (key === streamsKey) return;
  streamsKey = key;
  const focus = document.activeElement?.dataset?.name;
  fill(form.streams, make("legend", {}, "Streams"),
    names.length === 0 ? make("p", { class: "hint" }, "No streams yet: start a sensor. A recording of all streams may begin before they appear.") : null,
    names.map(([name, state]) => make("label", { class: "choice" },
      make("input", { type: "checkbox", checked: !excluded.has(name), data: { name }, onchange: (event) => { if (event.target.checked) excluded.delete(name); else excluded.add(name); } }),
      make("span", {}, name), state !== "running" && make("span", { class: state === "failed" ? "badge bad" : "badge" }, state))));
  if (focus) [...form.streams.querySelectorAll("input")].find((input) => input.dataset.name === focus)?.focus();
}

async function start() {
  const [limit, before] = [typedDuration(form.duration.value), typedDuration(form.before.value)];
  const names = (store.state?.streams ?? []).map((stream) => `${stream.device}/${stream.stream}`);
  const chosen = excluded.size === 0 ? ["*"] : names.filter((name) => !excluded.has(name));
  const problem = Number.isNaN(limit) ? `“${form.duration.value}” is not a duration: write 60s, 5m or 1h.`
    : Number.isNaN(before) ? `“${form.before.value}” in Before is not a time: write 30s or 5m.`
    : chosen.length === 0 ? "Choose a stream." : "";
  write(form.problem, problem);
  if (problem) return;
  const parameters = { streams: chosen };
  if (form.session.value.trim()) parameters.session = form.session.value.trim();
  if (form.task.value.trim()) parameters.task = form.task.value.trim();
  const first = lines(form.steps.value)[0];
  if (first) parameters.step = first;
  if (limit) parameters.duration = limit;
  if (before) parameters.before = before;
  rememberPlan();
  form.start.disabled = true;
  try {
    const reply = await call("recording.start", parameters);
    noteRunning(reply.session);
    form.session.value = "";
    announce(`Recording ${reply.session} started`);
    await refresh(reply.session);
    current = reply.session;
    show();
    panel.stop.focus();
  } catch (error) {
    write(form.problem, `The recording was not started: ${error.message}`);
  } finally {
    form.start.disabled = false;
    show();
  }
}

// The running session

function makePanel() {
  const parts = {
    choice: make("select", { "aria-label": "Running session", onchange: (event) => { current = event.target.value; show(); } }),
    name: make("h2", { class: "session-name" }),
    clock: make("p", { class: "clock", role: "timer", "aria-label": "Time recorded" }),
    of: make("p", { class: "of" }),
    progress: make("progress", { max: 1, hidden: true, "aria-label": "Part of the duration" }),
    durable: make("p", { class: "durable" }),
    step: make("p", { class: "step" }),
    steps: make("ol", { class: "steps-list", "aria-label": "Steps" }),
    next: button("Next step", nextStep, { "aria-keyshortcuts": "n" }),
    pause: button("Pause", pause, { "aria-keyshortcuts": "p" }),
    stop: button("Stop", stop, { class: "danger main" }),
    cancel: button("Cancel …", cancel, { class: "quiet" }),
    labels: make("div", { class: "labels", role: "group", "aria-label": "Annotate" }),
    note: make("input", { placeholder: "Note for the next annotation", "aria-label": "Note for the next annotation", maxLength: 500 }),
    annotations: make("ol", { class: "annotations", "aria-label": "Annotations" }),
    logs: make("div", { class: "logs" }),
    failures: make("p", { class: "problem", hidden: true }),
  };
  parts.element = make("div", { class: "running", hidden: true },
    make("div", { class: "sheet face" }, parts.choice, parts.name, parts.clock, parts.of, parts.progress, parts.durable, parts.failures,
      make("div", { class: "buttons big" }, parts.next, parts.pause, parts.stop), parts.cancel),
    make("div", { class: "sheet" }, make("h2", {}, "Steps"), parts.step, parts.steps),
    make("div", { class: "sheet" }, make("h2", {}, "Annotate"), parts.labels, parts.note, parts.annotations),
    make("div", { class: "sheet wide" }, make("h2", {}, "Streams"), parts.logs));
  return parts;
}

const recordingNow = () => store.recordings.find((recording) => recording.session === current);

/** What `recordingNow` was when it was last shown. */
let shown;
/** The name of the shown session, if the last state lacked it. */
let missing = null;

/** Keeps the shown session for one state that lacks it: it may have begun since, or the recorder replied too late. */
function keepShown(state) {
  const isMissing = shown?.session === current && !(state.recordings ?? []).some(({ session }) => session === current);
  if (isMissing && missing !== current) state.recordings = [...(state.recordings ?? []), shown];
  missing = isMissing ? current : null;
}

function show() {
  const running = store.recordings;
  // A session that ended leaves.
  if (!recordingNow() && !pending.has(current)) current = running[0]?.session ?? null;
  const recording = shown = recordingNow();
  form.element.hidden = Boolean(recording);
  panel.element.hidden = !recording;
  const recorder = store.state?.programs?.find((program) => program.name === "recorder");
  const mayNot = store.state && !store.may("command") ? "This console is view-only: it was started with --role listen."
    : recorder && !recorder.health ? "The recorder does not answer. Start it to record." : "";
  write(form.refused, mayNot);
  form.start.disabled = mayNot !== "" || !store.state;
  if (!recording) { showStreams(); return; }
  const isStopping = pending.get(current) === "stop";
  const names = running.map((entry) => entry.session);
  if ([...panel.choice.options].map((option) => option.value).join("\n") !== names.join("\n")) fill(panel.choice, names.map((name) => make("option", { value: name }, name)));
  panel.choice.hidden = names.length < 2;
  panel.choice.value = current;
  write(panel.name, `${recording.session}${recording.task ? ` · ${recording.task}` : ""}`);
  for (const control of [panel.next, panel.pause, panel.stop, panel.cancel]) control.disabled = mayNot !== "" || isStopping;
  write(panel.stop, isStopping ? "Stopping …" : "Stop");
  write(panel.pause, recording.paused ? "Resume" : "Pause");
  panel.pause.setAttribute("aria-pressed", String(Boolean(recording.paused)));
  showSteps(recording);
  showLabels(mayNot !== "");
  learnEarlier(current);
  showAnnotations();
  const logs = (recording.logs ?? []).slice().sort((a, b) => a.stream < b.stream ? -1 : 1);
  fill(panel.logs, logs.length === 0 ? make("p", { class: "hint" }, "No stream has samples yet.")
    : make("ul", { class: "log-list" }, logs.map((log) => make("li", {},
      make("span", { class: "grows" }, log.stream), make("span", {}, plural(log.samples ?? 0, "sample")), make("span", {}, bytes(log.bytes ?? 0)),
      make("span", { class: log.gaps > 0 ? "gaps bad" : "gaps" }, log.gaps > 0 ? plural(log.gaps, "gap") : "no gaps"),
      log.recovered > 0 && make("span", {}, `${count(log.recovered)} recovered`)))));
  panel.failures.hidden = !recording.lastFailure;
  write(panel.failures, recording.lastFailure ? `Failed: ${recording.lastFailure}` : "");
  tick();
}

/** The place of the current step in the plan; -1 if it is none of it. */
function stepIndex(recording) { return lines(plan.steps).indexOf(recording.currentStep ?? ""); }

function showSteps(recording) {
  const steps = lines(plan.steps), index = stepIndex(recording);
  write(panel.step, recording.step ? `Now: ${recording.step}` : "No step yet.");
  const key = `${steps.join("\n")}:${index}`;
  if (panel.steps.dataset.key !== key) {
    panel.steps.dataset.key = key;
    fill(panel.steps, steps.map((step, place) => make("li", { "aria-current": place === index ? "step" : undefined }, button(step, () => moveTo(step), { class: "step-button" }))));
  }
  for (const element of panel.steps.querySelectorAll("button")) element.disabled = panel.pause.disabled;
  const following = steps[index + 1];
  panel.next.disabled ||= following === undefined;
  write(panel.next, following === undefined ? "No next step" : `Next: ${following}`);
}

function showLabels(isDisabled) {
  const labels = lines(plan.labels).slice(0, 9);
  const key = labels.join("\n");
  if (panel.labels.dataset.key !== key) {
    panel.labels.dataset.key = key;
    fill(panel.labels, labels.map((label, index) => make("button", { type: "button", onclick: () => annotate(label), "aria-label": label, "aria-keyshortcuts": String(index + 1) }, make("kbd", { "aria-hidden": true }, String(index + 1)), label)),
      labels.length === 0 && make("p", { class: "hint" }, "No labels: write some before you start."));
  }
  for (const element of panel.labels.querySelectorAll("button")) element.disabled = isDisabled;
}

const opened = new Set();
/** Gets the annotations that a running session had before this page was opened. */
async function learnEarlier(session) {
  if (opened.has(session)) return;
  opened.add(session);
  try {
    for (const annotation of (await get(`/api/sessions/${encodeURIComponent(session)}`)).annotations ?? []) learn(session, annotation);
    showAnnotations();
  } catch { /* new ones come as events */ }
}

let shownAnnotations = "";
function showAnnotations() {
  const list = annotations.get(current) ?? [];
  const key = JSON.stringify([current, list]);
  if (key === shownAnnotations) return;
  shownAnnotations = key;
  const withdrawn = new Set(list.filter((entry) => entry.label === "" && entry.corrects).map((entry) => entry.corrects));
  fill(panel.annotations, list.filter((entry) => entry.label !== "").reverse().map((entry) => make("li", { class: withdrawn.has(entry.number) ? "withdrawn" : "" },
    make("time", {}, timeText(Date.parse(entry.from ?? entry.date) / 1000, 1)), make("span", { class: "label" }, entry.label), entry.note && make("span", { class: "hint" }, entry.note),
    withdrawn.has(entry.number) ? make("span", { class: "hint" }, "withdrawn")
      : button("Withdraw", () => annotate("", { corrects: entry.number }), { class: "quiet", "aria-label": `Withdraw annotation ${entry.number}, ${entry.label}` }))));
}

function tick() {
  const recording = recordingNow();
  if (!recording) return;
  const elapsed = now() - Date.parse(recording.startDate) / 1000;
  const limit = recording.configuration?.duration;
  const whole = limit ? limit + (recording.configuration?.before ?? 0) : null;
  write(panel.clock, clock(whole ? Math.min(elapsed, whole) : elapsed));
  write(panel.of, recording.paused ? "paused: samples are left out" : whole ? `of ${duration(whole)}` : "until stopped");
  panel.of.classList.toggle("bad", Boolean(recording.paused));
  panel.progress.hidden = !whole;
  if (whole) panel.progress.value = Math.min(1, elapsed / whole);
  const [text, isBad] = durability();
  write(panel.durable, text);
  panel.durable.classList.toggle("bad", isBad);
}

let stateAt = 0;
on("state", (state) => {
  stateAt = performance.now();
  if (state) keepShown(state);
  for (const { session } of store.recordings) noteRunning(session);
});

/** How old samples are at most when they are durable, of 99 in 100, as the recorder measures it. */
function durability() {
  const measures = store.state?.programs?.find((program) => program.name === "recorder")?.health?.measures;
  if (store.connection !== "live" && store.connection !== "polling") return ["Not connected: the recorder continues without this page.", true];
  if (!measures) return ["The recorder does not answer. Stored samples are kept, and recording resumes when it restarts.", true];
  const latency = measures.commitLatency99PercentSeconds ?? measures.commitLatencyMedianSeconds;
  if (!Number.isFinite(latency)) return ["Waiting for the first samples to be durable.", false];
  const behind = Math.max(latency, measures.behindSeconds ?? 0) + Math.max(0, (performance.now() - stateAt) / 1000 - 2.5);
  return [`Durable up to ${behind < 10 ? behind.toFixed(behind < 0.095 ? 2 : 1) : Math.round(behind)} s ago`, behind > 2];
}

// Requests

/** What is under way, by session. */
const pending = new Map();

async function refresh(session) {
  try {
    const state = await call("recording.status", { session });
    remove(session);
    store.state.recordings = [...(store.state.recordings ?? []), { startDate: new Date(now() * 1000).toISOString(), ...state }];
  } catch { /* the next state says it */ }
}

/** How many requests there were: an answer that another one overtook tells of a state that is over. */
let requests = 0;

async function ask(method, parameters, done) {
  const { session = current } = parameters, number = requests += 1;
  try {
    const reply = await call(method, { ...parameters, session });
    const recording = recordingNow();
    if (number === requests && recording?.session === session && reply?.logs && !("report" in reply)) Object.assign(recording, reply);
    if (done) announce(done);
    show();
    return reply;
  } catch (error) {
    say(error.message, true);
    return null;
  }
}

async function moveTo(step) {
  const reply = await ask("recording.moveTo", { step }, `Step ${step}`);
  const recording = recordingNow();
  if (reply && recording) { recording.currentStep = reply.currentStep ?? step; show(); }
}

function nextStep() {
  const recording = recordingNow();
  const step = recording && lines(plan.steps)[stepIndex(recording) + 1];
  if (step) moveTo(step);
}

function pause() {
  const isPaused = recordingNow()?.paused;
  ask(isPaused ? "recording.resume" : "recording.pause", {}, isPaused ? "Resumed" : "Paused");
}

async function annotate(label, more = {}) {
  const note = label ? panel.note.value.trim() : "";
  const reply = await ask("recording.annotate", { label, ...(note ? { note } : {}), ...more }, label ? `Annotated ${label}` : "Withdrawn");
  if (!reply) return;
  if (note) panel.note.value = "";
  if (reply.annotation) { learn(reply.session ?? current, reply.annotation); showAnnotations(); }
}

function learn(session, annotation) {
  const list = annotations.get(session) ?? [];
  if (!list.some((entry) => entry.number === annotation.number)) list.push(annotation);
  list.sort((a, b) => a.number - b.number);
  annotations.set(session, list.slice(-500));
  if (annotations.size > 50) annotations.delete(annotations.keys().next().value);
}

async function stop() {
  const session = current;
  pending.set(session, "stop");
  show();
  const reply = await ask("recording.stop", {});
  pending.delete(session);
  if (reply) ended(session, reply.report);
  else show();
}

/** Removes a session from the state, which may be older than its end. */
function remove(session) {
  if (store.state) store.state.recordings = (store.state.recordings ?? []).filter((recording) => recording.session !== session);
}

function ended(session, report) {
  remove(session);
  const samples = (report?.streams ?? []).reduce((sum, stream) => sum + (stream.received ?? 0), 0);
  const lost = (report?.streams ?? []).reduce((sum, stream) => sum + (stream.lost ?? 0), 0);
  say(report ? `${session} is stored: ${plural(samples, "sample")}, ${report.isWhole ? "whole" : lost > 0 ? `${count(lost)} lost` : "not whole"}.` : `${session} has ended.`, false);
  if (current === session) { current = null; location.hash = `#/sessions/${encodeURIComponent(session)}`; }
  show();
}

async function cancel() {
  const session = current;
  const isSure = await confirm(`Cancel ${session}?`, "It ends without a result and is not archived. Its files stay until it is discarded.", "Cancel the recording");
  if (!isSure) return;
  // Meanwhile the view may show another session.
  if (!await ask("recording.cancel", { session })) return;
  remove(session);
  say(`${session} was cancelled.`);
  show();
}

/** Sessions that ran while this page looked. The report of one may come after the state that does not have it any more. */
const running = new Set();

function noteRunning(session) {
  running.add(session);
  if (running.size > 50) running.delete(running.values().next().value);
}

function take(event) {
  if (event.schema !== "recording.v1") return;
  if (event.change === "annotation" && event.annotation) learn(event.session, event.annotation);
  const recording = store.recordings.find((entry) => entry.session === event.session);
  if (recording) {
    if (event.step !== undefined) {
      recording.step = event.step;
      if (event.change === "step" || event.change === "current") recording.currentStep = recording.task && event.step.startsWith(`${recording.task}/`) ? event.step.slice(recording.task.length + 1) : recording.task === event.step ? undefined : event.step;
    }
    if (event.change === "pause" || event.change === "resume") recording.paused = event.change === "pause";
    if (event.change === "failure") recording.lastFailure = event.reason ?? event.failure ?? "a stream failed";
  }
  if (event.change === "status") noteRunning(event.session);
  if (event.change === "report" && !pending.has(event.session) && running.delete(event.session)) ended(event.session, event.report);
  else if (isOpen && event.change !== "current") show();
}
