// Samples the phone's motion, numbers every event, keeps it until the computer has it, and sends it in batches.

import { Store } from "/store.js";

/** Streams by their names: of which event, with which fields and unit. A reading gives null for an event without it. */
const streams = {
  accelerometer: { event: "devicemotion", unit: "m/s2", read: (event) => axes(event.accelerationIncludingGravity) },
  userAcceleration: { event: "devicemotion", unit: "m/s2", read: (event) => axes(event.acceleration) },
  gyroscope: { event: "devicemotion", unit: "rad/s", read: (event) => rotation(event.rotationRate) },
  orientation: {
    event: "deviceorientation", unit: "deg", fields: ["alpha", "beta", "gamma"],
    read: (event) => numeric([event.alpha, event.beta, event.gamma]),
  },
};
const names = Object.keys(streams);
const pause = 1000;
const longestPause = 5000;
const longestAnswer = 10000;
const batch = 2000;
/** How long a run is kept after its end was acknowledged: a program that is killed may not have passed on its last samples. */
const keptAfterEnd = 10000;
/** How many seconds without an event are worth a word. */
const patience = 5;

const byId = (id) => document.getElementById(id);
const token = takeToken();
let store;
/** The run under way; null if nothing is sampled. */
let run = null;
/** The one under way, or the last one that this page sampled. */
let latest = null;
/** By stream, the number that its next sample gets. */
let numbers = {};
/** What is added to an event's time to get milliseconds since 1970. */
let origin = Date.now() - performance.now();
let wakeLock = null;
let events = 0;
let secondsWithout = 0;

function numeric(values) { return values.every((value) => typeof value === "number") ? values : null; }

function axes(vector) { return vector ? numeric([vector.x, vector.y, vector.z]) : null; }

/** The browser has degrees a second about x, y and z, which are alpha, beta and gamma here, unlike in an orientation. */
function rotation(rate) {
  return rate ? numeric([rate.alpha, rate.beta, rate.gamma])?.map((value) => value * Math.PI / 180) ?? null : null;
}

/** What is known of the axes' signs, for people. */
function describe() {
  const isApple = /iPhone|iPad|iPod/.test(navigator.userAgent) || navigator.platform === "MacIntel" && navigator.maxTouchPoints > 1;
  return isApple
    ? "motion events of a browser on iOS: z of gravity is negative if the phone lies on its back"
    : "motion events of a browser: z of gravity is positive if the phone lies on its back";
}

/** The token is behind the # of the address, so that no server and no log sees it there. */
function takeToken() {
  const shown = new URLSearchParams(location.hash.slice(1)).get("token");
  if (shown) localStorage.setItem("token", shown);
  return shown ?? localStorage.getItem("token");
}

const authorization = () => token ? { Authorization: `Bearer ${token}` } : {};

function show(id, text) { if (byId(id).textContent !== text) byId(id).textContent = text; }

function report(problem) {
  byId("problem").hidden = !problem;
  show("problem", problem ?? "");
}

function randomName() {
  return Array.from(crypto.getRandomValues(new Uint8Array(8)), (byte) => byte.toString(16).padStart(2, "0")).join("");
}

// Sampling

async function allow(kind) {
  if (typeof kind?.requestPermission !== "function") return;
  if (await kind.requestPermission() !== "granted") {
    throw new Error("this browser was not allowed to read motion: allow it in the browser's settings, and open the page again");
  }
}

async function start(device) {
  if (typeof DeviceMotionEvent === "undefined") {
    throw new Error("this browser gives this page no motion data: open it over https");
  }
  // Both at once: the second would not count as an answer to the tap.
  await Promise.all([allow(globalThis.DeviceMotionEvent), allow(globalThis.DeviceOrientationEvent)]);
  const runs = await store.runs();
  for (const kept of runs) {
    // The computer may know a run of this name, and would take nothing more of it.
    if (!kept.isDisplaced || runs.some((other) => other.device === device)) continue;
    refusals.delete(kept.device);
    await store.changeRun(kept.run, (stored) => { stored.device = device; stored.isDisplaced = false; });
  }
  const last = runs.at(-1);
  if (last && !last.isOver && !last.isDisplaced && last.device === device) {
    run = last;
  } else {
    // After a reload, the phone was given another name before Start.
    if (last && !last.isOver) await store.changeRun(last.run, (stored) => { stored.isOver = true; });
    run = { run: (last?.run ?? 0) + 1, device, epoch: randomName(), isOver: false, next: {} };
    await store.putRun(run);
  }
  latest = run;
  numbers = {};
  for (const name of names) {
    // After a crash of the phone, its last samples may not be stored though they were sent.
    numbers[name] = Math.max(await store.end(run.run, name) ?? 0, run.next[name] ?? 0, run.sent?.[name] ?? 0);
  }
  setOrigin();
  for (const kind of ["devicemotion", "deviceorientation"]) addEventListener(kind, take);
  secondsWithout = 0;
  await keepAwake();
  show("toggle", "Stop");
  byId("device").disabled = true;
}

async function stop() {
  for (const kind of ["devicemotion", "deviceorientation"]) removeEventListener(kind, take);
  const ended = run;
  run = null;
  ended.isOver = true;
  await store.putRun(ended);
  await wakeLock?.release();
  wakeLock = null;
  show("toggle", "Start");
  byId("device").disabled = false;
}

/** The clock of events may stand still while the phone sleeps. */
function setOrigin() {
  const now = Date.now() - performance.now();
  if (Math.abs(now - origin) > 100) origin = now;
}

/** Numbers an event's samples and keeps them. What is sent is read from there, so a number that was sent is never given again. */
function take(event) {
  // Seconds since 1970, as text: a number would not hold them to the microsecond.
  const time = ((origin + event.timeStamp) / 1000).toFixed(6);
  const samples = [];
  for (const name of names) {
    if (streams[name].event !== event.type) continue;
    const values = streams[name].read(event);
    if (values) samples.push([name, numbers[name]++, [time, ...values]]);
  }
  if (samples.length === 0) return;
  if (event.type === "devicemotion") events += 1;
  store.put(run.run, samples).catch((error) => report(`this phone can't keep more samples: ${error?.message ?? error}. Make room on it.`));
}

async function keepAwake() {
  try {
    wakeLock = await navigator.wakeLock?.request("screen") ?? null;
  } catch {
    wakeLock = null;
  }
}

// Sending

/** Why the computer does not take samples that it understood the request for: it may take those under other names. */
class Refusal extends Error {}

const displaced = (device) => `another phone or browser sends as ${device}: choose another name`;

/** By device name that the computer refuses, why, and until when it is not asked again. */
const refusals = new Map();

/** Sends a batch of each stream of each run, the oldest run first: a computer that knows a later run takes nothing of an earlier one.
 *  Runs under a name that is refused wait, and do not keep those under other names waiting.
 *  @returns whether there is more to send. */
async function sendSome() {
  const runs = await store.runs();
  for (const [index, stored] of runs.entries()) {
    const one = latest?.run === stored.run ? latest : stored;
    if (nexts.has(one.run)) one.next = nexts.get(one.run); else nexts.set(one.run, one.next);
    if (one.isDisplaced && !refusals.has(one.device)) refusals.set(one.device, { message: displaced(one.device), until: 0 });
    if (one.isDisplaced || refusals.get(one.device)?.until > performance.now()) continue;
    const isReplaced = runs.slice(index + 1).some(({ device }) => device === one.device);
    try {
      const hasMore = await sendSomeOf(one, isReplaced);
      refusals.delete(one.device);
      if (hasMore) return true;
    } catch (error) {
      // No sample waits if only the end is to be repeated.
      if (!isReplaced && ends.has(one.run)) continue;
      if (!(error instanceof Refusal)) throw error;
      refusals.set(one.device, { message: error.message, until: performance.now() + longestPause });
    }
  }
  return false;
}

/** By run and stream, the number to be sent next: what a full database holds may be out of date. */
const nexts = new Map();
/** By run, when its end was acknowledged for the first time. */
const ends = new Map();

/** @param isReplaced whether a later run of the same device waits to be sent.
 *  @returns whether there is more to send of a run. */
async function sendSomeOf(one, isReplaced) {
  // Asked before its samples are read: what comes while some are sent would be missed.
  const { isOver } = one;
  let hasMore = false;
  for (const name of names) hasMore = await send(one, name, isReplaced) || hasMore;
  if (hasMore || !isOver) return hasMore;
  const endedAt = ends.get(one.run);
  if (!isReplaced && performance.now() - endedAt < keptAfterEnd) return false;
  // The computer is told that this silence is none. One that was started anew may ask for more.
  for (const name of names) {
    if (!await send(one, name, isReplaced, true)) continue;
    ends.delete(one.run);
    return true;
  }
  if (endedAt === undefined) {
    ends.set(one.run, performance.now());
    // A later run waits for the second time.
    if (isReplaced) await new Promise((resolve) => { setTimeout(resolve, pause); });
    return isReplaced;
  }
  // A later run is sent only after this: otherwise a computer that was started anew might take this one for the later.
  await store.removeRun(one.run);
  nexts.delete(one.run);
  ends.delete(one.run);
  return false;
}

/** @param isReplaced whether a later run of the same device waits to be sent.
 *  @param last whether the run's last sample is sent, again, as its last.
 *  @returns whether there is more to send of a stream. */
async function send(one, name, isReplaced, last = false) {
  const next = last ? await store.end(one.run, name) - 1 : one.next[name] ?? 0;
  const { first, oldest, samples, isFull } = await store.read(one.run, name, next, batch);
  if (first === null) return false;
  const end = first + samples.length;
  // Before these numbers are sent: they must not be given again after a crash of the phone.
  // If there is no space for it, sending is what makes some.
  await store.changeRun(one.run, (stored) => {
    stored.next = { ...stored.next, ...one.next };
    stored.sent = { ...stored.sent, [name]: Math.max(end, stored.sent?.[name] ?? 0) };
  }).catch(() => {});
  const { unit, fields } = streams[name];
  const head = JSON.stringify({
    device: one.device, stream: name, epoch: one.epoch, first, oldest, unit, fields, description: describe(), last,
    // On the clock of the samples' times: the phone's may have been set since they were taken.
    now: (origin + performance.now()) / 1000,
  });
  const rows = samples.map((sample) => `[${sample.join(",")}]`).join(",");
  const response = await fetch("/samples", {
    method: "POST", body: `${head.slice(0, -1)},"samples":[${rows}]}`, headers: authorization(), signal: AbortSignal.timeout(longestAnswer),
  });
  const answer = await response.json();
  if (response.status === 410 && (isReplaced || last)) {
    // The computer has a later run: it takes nothing of this one any more. If this was only its end, it has all of it.
    one.next[name] = end;
  } else if (Number.isInteger(answer.next)) {
    // It may be less than before: a program that was started anew asks for what it does not know.
    one.next[name] = answer.next;
  } else if (response.status === 410) {
    // Once the computer has forgotten this run, it would take it for the other phone's next one.
    one.isDisplaced = true;
    await store.changeRun(one.run, (stored) => { stored.isDisplaced = true; }).catch(() => {});
    throw new Refusal(displaced(one.device));
  } else {
    const message = answer.error?.message ?? `the computer answers ${response.status}`;
    throw [400, 409].includes(response.status) ? new Refusal(message) : new Error(message);
  }
  await store.forget(one.run, name, one.next[name]);
  return isFull || one.next[name] < end;
}

async function keepSending() {
  let wait = pause;
  let problem = null;
  for (;;) {
    let hasMore = false;
    const former = problem;
    try {
      hasMore = await sendSome();
      wait = pause;
      problem = refusals.size > 0
        ? `${Array.from(refusals.values(), ({ message }) => message).join("; ")}. Samples that were taken under that name are kept on this phone.`
        : null;
    } catch (error) {
      wait = Math.min(wait * 2, longestPause);
      problem = `Nothing can be sent: ${error.message}. Samples are kept on this phone, and sent when the computer answers again.`;
    }
    if (problem || former) report(problem);
    if (!hasMore) await new Promise((resolve) => { setTimeout(resolve, wait); });
  }
}

// What is shown

function refresh() {
  show("rate", String(events));
  secondsWithout = events > 0 || document.hidden ? 0 : secondsWithout + 1;
  events = 0;
  show("status", !run ? "Not sampling" : document.hidden ? "Paused: the page is hidden" : secondsWithout < patience ? "Sampling" : "No motion data: this device has no sensors, or the browser blocks them");
  if (!latest) return;
  const sum = (of) => names.reduce((total, name) => total + of(name), 0);
  const safe = sum((name) => latest.next[name] ?? 0);
  show("safe", String(safe));
  show("backlog", String(Math.max(0, sum((name) => numbers[name]) - safe)));
}

/** What the recorder says, as the computer passes it on. */
function recordingText({ sessions, streams: recorded, problem }) {
  if (problem) return problem;
  if (sessions.length === 0) return "Not recording: no session runs";
  if (recorded.length === 0) return `Not recording this phone: session ${sessions.join(", ")} runs without it`;
  const name = [...new Set(recorded.map(({ session }) => session))].join(", ");
  return recorded.every(({ paused }) => paused) ? `Paused in session ${name}` : `Recording in session ${name}`;
}

async function keepAsking() {
  for (;;) {
    try {
      const device = encodeURIComponent(run?.device ?? byId("device").value);
      const response = await fetch(`/recording?device=${device}`, { headers: authorization(), signal: AbortSignal.timeout(longestAnswer) });
      const answer = await response.json();
      if (!response.ok) throw new Error(answer.error?.message);
      show("recording", recordingText(answer));
      show("recorded", String(answer.streams.reduce((sum, { samples }) => sum + samples, 0)));
    } catch {
      show("recording", "The computer does not answer");
    }
    await new Promise((resolve) => { setTimeout(resolve, 2 * pause); });
  }
}

async function begin() {
  if (!await ownsPage()) throw new Error("it is already open in another tab or window: close one of them, and reload this one");
  store = await Store.open();
  await navigator.storage?.persist?.();
  const last = (await store.runs()).at(-1);
  byId("device").value = localStorage.getItem("device") ?? last?.device ?? `phone-${randomName().slice(0, 4)}`;
  byId("form").addEventListener("submit", async (event) => {
    event.preventDefault();
    byId("toggle").disabled = true;
    try {
      if (run) {
        await stop();
      } else {
        localStorage.setItem("device", byId("device").value);
        report(null);
        await start(byId("device").value);
      }
    } catch (error) {
      report(error.message);
    }
    byId("toggle").disabled = false;
  });
  document.addEventListener("visibilitychange", () => {
    if (document.hidden) return;
    setOrigin();
    if (run) keepAwake();
  });
  // After a reload it continues by itself, if the browser asks for no tap.
  // If another phone has taken its name, starting would displace that one.
  if (last && !last.isOver && !last.isDisplaced) {
    try {
      await start(last.device);
    } catch {
      report("Tap Start to continue.");
    }
  }
  byId("toggle").disabled = false;
  refresh();
  setInterval(refresh, 1000);
  keepSending();
  keepAsking();
}

/** Whether no other tab numbers events of the same run. The lock is kept as long as the page lives. */
function ownsPage() {
  if (!navigator.locks) return true;
  return new Promise((resolve) => {
    navigator.locks.request("holdfast-phone", { ifAvailable: true }, (lock) => {
      resolve(Boolean(lock));
      return lock ? new Promise(() => {}) : undefined;
    });
  });
}

begin().catch((error) => {
  show("status", "Not sampling");
  report(`This page does not work here: ${error.message}.`);
});
