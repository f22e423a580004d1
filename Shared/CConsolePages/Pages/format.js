// Numbers, times and names as people read them.

const units = ["B", "kB", "MB", "GB", "TB"];

/** 354600 → "354.6 kB". */
export function bytes(count) {
  if (!Number.isFinite(count)) return "–";
  let value = count, unit = 0;
  while (Math.abs(value) >= 1000 && unit < units.length - 1) { value /= 1000; unit += 1; }
  return `${unit === 0 ? value : value.toFixed(1)} ${units[unit]}`;
}

/** A value beside a plot: four digits that matter, the same width whatever its sign. */
export function value(number) {
  if (typeof number !== "number" || !Number.isFinite(number)) return "–";
  const size = Math.abs(number);
  const digits = size >= 1000 ? 0 : size >= 100 ? 1 : size >= 10 ? 2 : 3;
  const text = size !== 0 && (size >= 1e7 || size < 1e-4) ? number.toExponential(2) : number.toFixed(digits);
  return text.startsWith("-") ? `−${text.slice(1)}` : text;
}

/** 2001 → "2,001". */
export function count(number) {
  return Number.isFinite(number) ? number.toLocaleString("en-US") : "–";
}

/** "1 gap", "2 gaps". */
export function plural(number, word) {
  return `${count(number)} ${word}${number === 1 ? "" : "s"}`;
}

/** 75.25 → "1 min 15 s"; 0.05 → "50 ms". */
export function duration(seconds) {
  if (!Number.isFinite(seconds)) return "–";
  if (seconds < 0) return `−${duration(-seconds)}`;
  if (seconds === 0) return "0 s";
  if (seconds < 0.001) return `${Number((seconds * 1e6).toPrecision(3))} µs`;
  if (seconds < 0.9995) return `${Number((seconds * 1000).toPrecision(3))} ms`;
  if (seconds < 60) return `${Number(seconds.toPrecision(3))} s`;
  const whole = Math.round(seconds);
  const parts = [[Math.floor(whole / 86400), "d"], [Math.floor(whole / 3600) % 24, "h"], [Math.floor(whole / 60) % 60, "min"], [whole % 60, "s"]];
  const first = parts.findIndex(([amount]) => amount > 0);
  return parts.slice(first, first + 2).filter(([amount]) => amount > 0).map(([amount, unit]) => `${amount} ${unit}`).join(" ");
}

/** 75.25 → "1:15.2", an hour "1:00:00.0": the large clock. */
export function clock(seconds) {
  const tenths = Math.max(0, Math.floor(seconds * 10 + 1e-6));
  const pad = (number) => String(number).padStart(2, "0");
  const [h, m, s] = [Math.floor(tenths / 36000), Math.floor(tenths / 600) % 60, Math.floor(tenths / 10) % 60];
  return `${h > 0 ? `${h}:${pad(m)}` : m}:${pad(s)}.${tenths % 10}`;
}

/** UTC seconds as the local time of day. */
export function time(seconds, digits = 0) {
  const date = new Date(seconds * 1000);
  if (Number.isNaN(date.getTime())) return "–";
  const text = date.toTimeString().slice(0, 8);
  return digits > 0 ? `${text}.${String(Math.floor(date.getMilliseconds() / 10 ** (3 - digits))).padStart(digits, "0")}` : text;
}

/** A date of the wire as local date and time. */
export function date(text) {
  const parsed = new Date(text);
  if (!text || Number.isNaN(parsed.getTime())) return "–";
  const pad = (number) => String(number).padStart(2, "0");
  return `${parsed.getFullYear()}-${pad(parsed.getMonth() + 1)}-${pad(parsed.getDate())} ${parsed.toTimeString().slice(0, 8)}`;
}

/** A date of the wire in UTC seconds; NaN if it is none. */
export function seconds(text) {
  return typeof text === "number" ? text : Date.parse(text) / 1000;
}

/** "30s", "2 min", "90": what a person types for a time, in seconds; null for nothing, NaN for nonsense. */
export function typedDuration(text) {
  const typed = text.trim();
  if (typed === "") return null;
  const match = /^(\d+(?:\.\d+)?)\s*(ms|s|sec|m|min|h|d)?$/.exec(typed);
  if (!match) return NaN;
  return Number(match[1]) * { ms: 0.001, s: 1, sec: 1, m: 60, min: 60, h: 3600, d: 86400 }[match[2] ?? "s"];
}

/** "commitLatency99PercentSeconds" → "commit latency 99 percent", and its value in its unit. */
export function measure(name, number) {
  const unit = /(Seconds|Bytes|Rate)$/.exec(name)?.[1];
  const bare = unit ? name.slice(0, -unit.length) : name;
  const words = bare.replace(/([a-z])([A-Z0-9])/g, "$1 $2").replace(/([0-9])([A-Z])/g, "$1 $2").toLowerCase();
  if (typeof number !== "number") return [words, text(number)];
  if (unit === "Seconds") return [words, duration(number)];
  if (unit === "Bytes") return [words, bytes(number)];
  return [unit ? `${words} ${unit.toLowerCase()}` : words, Number.isInteger(number) ? count(number) : value(number)];
}

const reasons = {
  notRetained: "the publisher no longer had them", epochEnded: "the publisher restarted", publisherUnreachable: "the publisher did not answer",
  heldTooMuch: "too many newer samples waited", malformed: "they could not be read", notWritten: "they could not be written",
  notInSource: "the source does not have them", estimated: "the source's times have a gap",
};

/** Why samples are missing, in words; a word that is new here stays as it is. */
export function reason(word) {
  return Object.hasOwn(reasons, word ?? "") ? reasons[word] : word ?? "";
}

/** Any JSON value as text. */
export function text(json) {
  if (json === null || json === undefined) return "–";
  return typeof json === "object" ? JSON.stringify(json) : String(json);
}
