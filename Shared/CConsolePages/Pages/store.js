// What the page knows: the server's state, the series of samples, steps, gaps and the bus's events, as they arrive.
import { get, query } from "./api.js";
import { Series } from "./series.js";

const listeners = new Map();

/** Calls a function at each event of a kind: `state`, `connection`, `bus`, `gap`, `steps`, `samples`. */
export function on(kind, listener) {
  if (!listeners.has(kind)) listeners.set(kind, new Set());
  listeners.get(kind).add(listener);
}

function tell(kind, detail) {
  for (const listener of listeners.get(kind) ?? []) listener(detail);
}

/** How many of the bus's events are kept to look at. */
const maximumEvents = 200;
/** Backfills under way at once: each costs a publisher a replay. */
const maximumRequests = 4;
/** Characters of the longest list of streams in an address: a console accepts 16 KiB with all headers. */
const longestList = 8000;
/** After so many milliseconds, each publisher has described its streams again: it does once a second. */
export const untilDescribed = 1100;

export const store = {
  /** The body of /api/state; null before the first. */
  state: null,
  /** connecting, live, polling (the console answers, but sends no events), lost or refused. */
  connection: "connecting",
  /** Why, for people. */
  reason: "",
  /** By "device/stream". */
  series: new Map(),
  /** By device: numberOfSteps, cadence, from steps.v1. */
  steps: new Map(),
  /** By device, the subscription whose total this page shows: others began at other times. */
  subscriptions: new Map(),
  /** The newest last. */
  events: [],
  /** Samples that the console left out because this page was too slow. */
  behind: 0,
  /** How far back plots look, in seconds: what is fetched of the past. */
  window: 10,

  /** What this page may do, from the event of this name. */
  given: [],

  get roles() { return this.state?.roles ?? this.given; },
  may(role) { return this.roles.includes(role); },
  get recordings() { return (this.state?.recordings ?? []).filter((recording) => !recording.endDate); },
};

// The server's clock

let offset = null;
let offsetIsExact = false;
/** The greatest reading since a time, and that of the 30 s before. */
let readings = null;

/** The time on the console's clock, in UTC seconds: a phone's own clock may be wrong. */
export function now() {
  return offset === null ? Date.now() / 1000 : performance.now() / 1000 + offset;
}

/** The least delayed reading is the truest one, among the latest: the console's clock may be set back. */
function learnClock(serverSeconds, isExact) {
  const time = performance.now() / 1000;
  const seen = serverSeconds - time;
  if (offset === null || (isExact && !offsetIsExact) || Math.abs(seen - offset) > 5) {
    readings = { since: time, greatest: seen, former: -Infinity };
  } else if (isExact === offsetIsExact) {
    if (time - readings.since > 30) readings = { since: time, greatest: seen, former: readings.greatest };
    else readings.greatest = Math.max(readings.greatest, seen);
  }
  offset = Math.max(readings.greatest, readings.former);
  offsetIsExact ||= isExact;
}

// The connection

let source = null;
let wanted = null;
let attempt = 0;
let timer = null;
let heard = 0;

/** The streams whose samples are wanted: an array of "device/stream", or null for all. */
export function want(streams) {
  // Neither a name with a comma nor very many names can be asked for in a list of them: then all are.
  const list = streams === null || streams.some((name) => name.includes(",")) ? null : encodeURIComponent([...streams].sort().join(","));
  const key = list?.length > longestList ? null : list;
  if (key === wanted && source) return;
  wanted = key;
  connect();
}

/** Leaves until `connect`: a browser has few connections to a server for all its pages, so one that nobody sees has none. */
export function leave() {
  clearTimeout(timer);
  source?.close();
  source = null;
}

/** Connects, again if there is a connection. */
export function connect() {
  clearTimeout(timer);
  source?.close();
  const events = new EventSource(`/api/events${wanted === null ? "" : `?streams=${wanted}`}`);
  source = events;
  heard = performance.now();
  const receive = (kind, handle) => events.addEventListener(kind, (event) => {
    if (source !== events) return;
    heard = performance.now();
    attempt = 0;
    let data;
    try { data = JSON.parse(event.data); } catch { return; }
    setConnection("live");
    handle(data);
  });
  receive("roles", (roles) => { store.given = roles; tell("state"); });
  receive("state", setState);
  receive("samples", takeSamples);
  receive("gap", takeGap);
  receive("bus", ({ event }) => takeEvent(event));
  receive("behind", ({ samples }) => { store.behind += samples; tell("behind", samples); });
  events.onopen = () => { for (const series of store.series.values()) series.reconnected(); };
  events.onerror = () => {
    if (source !== events) return;
    events.close();
    source = null;
    resume();
  };
}

/** After a lost connection: finds out why, and connects again after a moment. */
async function resume() {
  try {
    setState(await get("/api/state"));
    // It answers, so events failed alone: refused, or cut this moment.
    attempt += 1;
    if (attempt > 1) setConnection("polling", "This console sends no live samples to this page, perhaps because too many pages are open. The page updates every two seconds.");
    timer = setTimeout(attempt < 2 || attempt % 5 === 0 ? connect : resume, attempt > 1 ? 2000 : 300);
  } catch (error) {
    attempt += 1;
    setConnection(error.status === 401 ? "refused" : "lost", error.message);
    timer = setTimeout(connect, Math.min(5000, 500 * attempt));
  }
}

/** A connection that is dead without having been closed: a laptop that slept, a network that changed. */
setInterval(async () => {
  if (!source || performance.now() - heard < 15_000) return;
  const silent = source;
  try { setState(await get("/api/state", AbortSignal.timeout(5000))); heard = performance.now(); } catch {
    if (source === silent) { silent.close(); source = null; resume(); }
  }
}, 5000);

function setConnection(connection, reason = "") {
  if (store.connection === connection && store.reason === reason) return;
  store.connection = connection;
  store.reason = reason;
  tell("connection", connection);
}

// What arrives

function setState(state) {
  if (!state || typeof state !== "object") return;
  if (state.date) learnClock(Date.parse(state.date) / 1000, false);
  store.state = state;
  for (const description of state.streams ?? []) {
    if (description.clock?.date && offset === null) learnClock(Date.parse(description.clock.date) / 1000, false);
    seriesOf(`${description.device}/${description.stream}`).describe(description);
  }
  tell("state", state);
}

/** The series of a stream; made if it is new. */
export function seriesOf(name) {
  let series = store.series.get(name);
  if (!series) store.series.set(name, series = new Series(name));
  return series;
}

function takeSamples(batch) {
  if (Number.isFinite(batch.received)) learnClock(batch.received, true);
  const series = seriesOf(`${batch.device}/${batch.stream}`);
  const hole = series.append(batch);
  if (hole) {
    const from = Math.max(hole.from, hole.to - store.window);
    backfill(series, from, hole.to);
    if (Number.isFinite(hole.from) && hole.from < from) series.noteHole(hole.from, from);
  }
  tell("samples", series);
}

function takeGap(gap) {
  const series = seriesOf(`${gap.device}/${gap.stream}`);
  series.setGap(gap);
  // The samples come as samples; where they came before this page looked, they are in the past.
  if (gap.state === "recovered" && gap.from !== null && !series.knows(gap.from + series.period / 2, series.period)) backfill(series, gap.from, gap.to);
  tell("gap", { series, gap });
}

function takeEvent(event) {
  if (!event || typeof event !== "object") return;
  if (event.schema === "steps.v1") {
    const known = store.steps.get(event.device) ?? {};
    const isShown = (store.subscriptions.get(event.device) ?? event.subscription) === event.subscription;
    const numberOfSteps = isShown ? event.numberOfSteps ?? known.numberOfSteps : known.numberOfSteps;
    const { cadence } = event;
    const isWalking = event.change === "update";
    store.steps.set(event.device, { numberOfSteps, cadence: isWalking ? cadence ?? known.cadence : event.change === "pause" || event.change === "end" ? null : known.cadence });
    tell("steps", event.device);
  }
  // Each second's repetition is no news.
  if (event.change !== "current") {
    store.events.push(event);
    if (store.events.length > maximumEvents) store.events.shift();
  }
  tell("bus", event);
}

// The past

const waiting = [];
let underWay = 0;

/** Fills a span of a series from what the publisher keeps. */
export function backfill(series, from, to, tries = 3) {
  if (!(to - from > 0.02) || tries === 0) return;
  waiting.push({ series, from, to, tries });
  if (waiting.length > 100) waiting.shift();
  next();
}

async function next() {
  if (underWay >= maximumRequests || waiting.length === 0) return;
  const { series, from, to, tries } = waiting.shift();
  underWay += 1;
  try {
    const past = await history(series.name, from, to, 600);
    series.insert(past, from, to);
    tell("samples", series);
    // The newest samples may not be known to be replayable yet: a publisher tells how far it is once a second.
    const end = past.times.length > 0 ? past.times.at(-1) + past.width : from;
    if (to - end > Math.max(3 * series.period, 0.02) && now() - to < 5) setTimeout(() => backfill(series, Math.max(from, end), to, tries - 1), untilDescribed);
  } catch (error) {
    // A console that has just started does not know every stream yet.
    if (error.status === 404) setTimeout(() => backfill(series, from, to, tries - 1), untilDescribed);
  } finally {
    underWay -= 1;
    next();
  }
}

/** The past of a stream as columns. */
export function history(name, from, to, columns) {
  const slash = name.indexOf("/");
  return get(`/api/history${query({ device: name.slice(0, slash), stream: name.slice(slash + 1), from: from.toFixed(3), to: to.toFixed(3), columns })}`);
}
