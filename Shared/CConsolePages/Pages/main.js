// Starts the page: the views, the way between them, the keys, and what the header says.
import { write } from "./dom.js";
import { connect, leave, now, on, store, want } from "./store.js";
import { setUpTheme } from "./theme.js";
import { clock } from "./format.js";
import { liveKey, openLive, setUpLive } from "./live.js";
import { openRecord, recordKey, setUpRecord } from "./record.js";
import { openSessions, setUpSessions } from "./sessions.js";
import { openSystem, setUpSystem } from "./system.js";

const views = {
  live: { setUp: setUpLive, open: openLive, key: liveKey, title: "Live" },
  record: { setUp: setUpRecord, open: openRecord, key: recordKey, title: "Record" },
  sessions: { setUp: setUpSessions, open: openSessions, title: "Sessions" },
  system: { setUp: setUpSystem, open: openSystem, title: "System" },
};
let shown = null;

function route() {
  const [name, ...rest] = location.hash.replace(/^#\/?/, "").split("/");
  if (name === "main") return;
  const view = name in views ? name : "live";
  let detail = null;
  try { detail = rest.length > 0 ? decodeURIComponent(rest.join("/")) : null; } catch { /* a broken link shows the list */ }
  if (shown && shown !== view) views[shown].open(false);
  for (const key of Object.keys(views)) {
    document.getElementById(key).hidden = key !== view;
    const link = document.querySelector(`nav a[data-view=${key}]`);
    if (key === view) link.setAttribute("aria-current", "page"); else link.removeAttribute("aria-current");
  }
  const isChange = shown !== null && shown !== view;
  shown = view;
  document.title = `${detail ?? views[view].title} · Holdfast`;
  views[view].open(true, detail);
  if (isChange) { window.scrollTo(0, 0); document.getElementById("main").focus({ preventScroll: true }); }
}

/** Whether a key belongs to what has the focus. */
function isTyping(element) {
  return Boolean(element?.closest("input:not([type=checkbox]):not([type=radio]), textarea, select, dialog, [contenteditable]"));
}

const words = { connecting: "connecting", live: "connected", polling: "connected, no live samples", lost: "not connected", refused: "not allowed" };

function showConnection() {
  const element = document.getElementById("connection");
  write(element, words[store.connection]);
  element.dataset.state = store.connection;
  const notice = document.getElementById("notice");
  notice.hidden = store.reason === "";
  write(notice, store.reason);
}

function showRecording() {
  const link = document.getElementById("recording");
  const running = store.recordings;
  link.hidden = running.length === 0;
  if (running.length === 0) return;
  const elapsed = now() - Date.parse(running[0].startDate) / 1000;
  write(link, `● ${running.length > 1 ? `${running.length} recordings` : Number.isFinite(elapsed) ? clock(elapsed).slice(0, -2) : "recording"}`);
  link.setAttribute("aria-label", running.length > 1 ? `${running.length} recordings are running` : `Recording ${running[0].session}`);
}

for (const [name, view] of Object.entries(views)) view.setUp(document.getElementById(name));
setUpTheme(document.getElementById("theme"));
on("connection", showConnection);
on("state", showRecording);
setInterval(showRecording, 1000);
addEventListener("hashchange", route);
addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing || isTyping(event.target)) return;
  if (event.repeat && !event.key.startsWith("Arrow")) return;
  if (views[shown].key?.(event.key)) event.preventDefault();
});

// A page that nobody sees for a minute leaves, and is back as soon as it is seen.
let hiddenTimer = null, isAway = false;
function away() { isAway = true; leave(); }
document.addEventListener("visibilitychange", () => {
  clearTimeout(hiddenTimer);
  if (document.hidden) hiddenTimer = setTimeout(away, 60_000);
  else if (isAway) { isAway = false; connect(); }
});
addEventListener("pagehide", away);
addEventListener("pageshow", (event) => { if (event.persisted && isAway) { isAway = false; connect(); } });

showConnection();
route();
// Samples are wanted once plots are looked at.
if (shown === "live") connect(); else want([]);
