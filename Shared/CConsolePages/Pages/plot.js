// Draws series on a canvas: one polyline through the least and greatest value of each column of pixels.
import { palette } from "./theme.js";
import { time as timeText } from "./format.js";

const margin = { left: 46, right: 8, top: 9, bottom: 19 };
const plots = new WeakMap();

/** What a canvas shows at present: its span, range and the rectangle of its plot in CSS pixels. */
export function plotOf(canvas) { return plots.get(canvas); }

/** A canvas that is as large as its place on the page, in the screen's pixels. */
function prepare(canvas) {
  const ratio = Math.min(3, window.devicePixelRatio || 1);
  const width = canvas.clientWidth, height = canvas.clientHeight;
  if (width < 60 || height < 30) return null;
  if (canvas.width !== Math.round(width * ratio) || canvas.height !== Math.round(height * ratio)) {
    canvas.width = Math.round(width * ratio);
    canvas.height = Math.round(height * ratio);
  }
  const context = canvas.getContext("2d");
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  context.clearRect(0, 0, width, height);
  context.font = "11px system-ui, sans-serif";
  context.lineJoin = "round";
  return { context, left: margin.left, right: width - margin.right, top: margin.top, bottom: height - margin.bottom };
}

/** How many pixels wide a plot on this canvas is. */
export function plotWidth(canvas) { return Math.max(1, canvas.clientWidth - margin.left - margin.right); }

/** Steps of 1, 2 or 5 times a power of ten: about `wanted` in a span. */
function tickStep(span, wanted) {
  const raw = span / Math.max(1, wanted);
  const power = 10 ** Math.floor(Math.log10(raw));
  return [1, 2, 5, 10].map((factor) => factor * power).find((step) => step >= raw * 0.999) ?? raw;
}

const timeSteps = [0.1, 0.2, 0.5, 1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14400, 43200, 86400];

/** Keeps a range as long as it fits, so that the scale does not tremble. */
function range(canvas, low, high, key) {
  if (!(high >= low)) { low = -1; high = 1; }
  const size = Math.max(Math.abs(low), Math.abs(high));
  if (high - low < Math.max(1e-9, size * 1e-6)) { const half = size * 0.05 || 0.5; low -= half; high += half; }
  const old = plots.get(canvas);
  if (old && old.key === key && low >= old.low && high <= old.high && high - low > (old.high - old.low) * 0.55) return [old.low, old.high];
  const room = (high - low) * 0.1;
  return [low - room, high + room];
}

/** The magnitude of a vector whose parts are known by their bounds. */
function magnitude(source, fields) {
  const lows = fields.map((field) => source.low.get(field)), highs = fields.map((field) => source.high.get(field));
  return (index) => {
    let low = 0, high = 0;
    for (let k = 0; k < lows.length; k += 1) {
      const a = lows[k][index], b = highs[k][index];
      const small = a <= 0 && b >= 0 ? 0 : Math.min(Math.abs(a), Math.abs(b));
      const large = Math.max(Math.abs(a), Math.abs(b));
      low += small * small; high += large * large;
    }
    return [Math.sqrt(low), Math.sqrt(high)];
  };
}

/**
 * Draws a series over a span of time.
 *
 * `lines` are `{field, color}`, or `{fields, color}` for the magnitude of several. `marks` are `{time, text, color}`;
 * `cursor` is a time or null; `empty` is said where there is nothing to draw.
 */
export function drawSeries(canvas, source, { from, to, lines, gaps = [], marks = [], cursor = null, empty = "", key = "" }) {
  const area = prepare(canvas);
  if (!area) return;
  const { context, left, right, top, bottom } = area;
  const colors = palette();
  const width = right - left, scale = width / (to - from), column = 1 / scale;
  const begin = Math.max(0, source.indexOf(from) - 1), end = Math.min(source.count, source.indexOf(to) + 1);
  const period = source.period;
  const isDense = (end - begin) > width * 1.5;
  const breakAfter = Math.max(4 * period, 3 * column, 1.2);
  const isBroken = (a, b) => b - a > breakAfter || (b - a > 1.5 * period && gaps.some((gap) => gap.from < b && gap.to > a));

  // First the columns, then the range, then the ink.
  let low = Infinity, high = -Infinity;
  const paths = lines.map((line) => {
    const both = line.fields ? magnitude(source, line.fields) : null;
    const lows = line.field ? source.low.get(line.field) : null, highs = line.field ? source.high.get(line.field) : null;
    const points = [];
    let last = null, lastColumn = NaN;
    for (let i = begin; i < end; i += 1) {
      let a, b;
      if (both) [a, b] = both(i); else if (lows) { a = lows[i]; b = highs[i]; } else break;
      if (a !== a) continue;
      const time = source.times[i];
      if (time >= from && time <= to) { if (a < low) low = a; if (b > high) high = b; }
      const index = isDense ? Math.floor(time * scale) : NaN;
      if (last && index === lastColumn) {
        if (a < last.low) last.low = a;
        if (b > last.high) last.high = b;
        last.end = time;
      } else {
        last = { start: time, end: time, low: a, high: b, x: left + (isDense ? (index + 0.5) / scale - from : time - from) * scale };
        lastColumn = index;
        points.push(last);
      }
    }
    return { color: line.color, points };
  });
  [low, high] = range(canvas, low, high, key);
  const y = (number) => bottom - (number - low) / (high - low) * (bottom - top);
  plots.set(canvas, { key, from, to, low, high, left, right, top, bottom });

  drawScale(context, area, colors, low, high, y);
  drawTimes(context, area, colors, from, to, scale);

  context.save();
  context.beginPath();
  context.rect(left, 0, width, bottom);
  context.clip();
  for (const gap of gaps) if (gap.to >= from && gap.from <= to) drawGap(context, area, colors, left + (gap.from - from) * scale, left + (gap.to - from) * scale, gap.state);
  context.lineWidth = 1.5;
  let isEmpty = true;
  for (const { color, points } of paths) {
    context.strokeStyle = colors[color] ?? colors.accent;
    context.beginPath();
    let previous = null, pen = 0;
    for (const point of points) {
      isEmpty = false;
      const first = y(point.low), second = y(point.high);
      if (!previous || isBroken(previous.end, point.start)) {
        context.moveTo(point.x - (first === second ? 0.75 : 0), first);
        context.lineTo(point.x, second);
        pen = second;
      } else {
        // The nearer end first: the line continues the one before and no value is left out.
        const lowFirst = Math.abs(first - pen) <= Math.abs(second - pen);
        context.lineTo(point.x, lowFirst ? first : second);
        pen = lowFirst ? second : first;
        if (first !== second) context.lineTo(point.x, pen);
      }
      previous = point;
    }
    context.stroke();
  }
  // A label that would cover the one before goes below it, and a third is left out.
  const free = [-Infinity, -Infinity];
  for (const mark of marks) {
    if (mark.time < from || mark.time > to) continue;
    const x = left + (mark.time - from) * scale;
    context.strokeStyle = colors[mark.color] ?? colors.mark;
    context.lineWidth = 1;
    context.setLineDash([3, 3]);
    context.beginPath(); context.moveTo(x, 0); context.lineTo(x, bottom); context.stroke();
    context.setLineDash([]);
    if (mark.to > mark.time) { context.globalAlpha = 0.12; context.fillStyle = colors.mark; context.fillRect(x, top, (mark.to - mark.time) * scale, bottom - top); context.globalAlpha = 1; }
    const row = free.findIndex((place) => x > place);
    if (mark.text && row >= 0) {
      const text = mark.text.length > 24 ? `${mark.text.slice(0, 23)}…` : mark.text;
      const size = context.measureText(text).width;
      context.fillStyle = colors.plot; context.globalAlpha = 0.85; context.fillRect(x + 1, 1 + row * 14, size + 6, 14); context.globalAlpha = 1;
      context.fillStyle = colors[mark.color] ?? colors.mark;
      context.textAlign = "left"; context.textBaseline = "alphabetic";
      context.fillText(text, x + 4, 12 + row * 14);
      free[row] = x + size + 8;
    }
  }
  if (cursor !== null && cursor >= from && cursor <= to) {
    const x = left + (cursor - from) * scale;
    context.strokeStyle = colors.text; context.globalAlpha = 0.55; context.lineWidth = 1;
    context.beginPath(); context.moveTo(x, top); context.lineTo(x, bottom); context.stroke();
    context.globalAlpha = 1;
  }
  context.restore();
  if (isEmpty) sayEmpty(context, area, colors, empty);
}

function sayEmpty(context, { left, right, top, bottom }, colors, empty) {
  if (!empty) return;
  const [x, y, width] = [(left + right) / 2, (top + bottom) / 2, Math.min(right - left, context.measureText(empty).width + 12)];
  context.fillStyle = colors.plot;
  context.fillRect(x - width / 2, y - 9, width, 18);
  context.fillStyle = colors.muted; context.textAlign = "center"; context.textBaseline = "middle";
  context.fillText(empty, x, y, right - left - 8);
}

function drawScale(context, { left, right, top, bottom }, colors, low, high, y) {
  const step = tickStep(high - low, Math.max(2, (bottom - top) / 24));
  context.strokeStyle = colors.line; context.fillStyle = colors.muted; context.lineWidth = 1;
  context.textAlign = "right"; context.textBaseline = "middle";
  const digits = Math.max(0, Math.min(6, -Math.floor(Math.log10(step) + 1e-9)));
  context.beginPath();
  for (let tick = Math.ceil(low / step) * step; tick <= high; tick += step) {
    const at = Math.round(y(tick)) + 0.5;
    context.moveTo(left, at); context.lineTo(right, at);
    const number = Math.abs(tick) < step / 1e3 ? 0 : tick;
    context.fillText(Math.abs(number) >= 1e6 ? number.toExponential(1) : number.toFixed(digits).replace("-", "−"), left - 5, at, left - 6);
  }
  context.stroke();
}

function drawTimes(context, { left, right, top, bottom }, colors, from, to, scale) {
  const width = right - left;
  const step = timeSteps.find((candidate) => candidate * scale >= 74) ?? 86400;
  context.textAlign = "center"; context.textBaseline = "alphabetic";
  context.fillStyle = colors.muted; context.strokeStyle = colors.line;
  context.beginPath();
  for (let tick = Math.ceil(from / step) * step; tick <= to; tick += step) {
    const x = left + (tick - from) * scale;
    context.moveTo(x, top); context.lineTo(x, bottom);
    // A label that would be cut at the edge is left out.
    if (x - left > 14 && right - x > 14) context.fillText(timeText(tick + 1e-6, step < 1 ? 1 : 0), x, bottom + 14);
  }
  context.stroke();
}

/** Missing samples: red, hatched, and with a bar at the top, so that it is no matter of color alone. */
function drawGap(context, { top, bottom }, colors, start, end, state) {
  const width = Math.max(3, end - start);
  context.fillStyle = colors.gap;
  context.globalAlpha = state === "open" ? 0.3 : 0.2;
  context.fillRect(start, top, width, bottom - top);
  context.globalAlpha = 1;
  context.fillRect(start, top, width, 3);
  context.save();
  context.beginPath(); context.rect(start, top, width, bottom - top); context.clip();
  context.strokeStyle = colors.gap; context.globalAlpha = 0.5; context.lineWidth = 1;
  context.beginPath();
  for (let x = start - (bottom - top); x < start + width; x += 7) { context.moveTo(x, bottom); context.lineTo(x + bottom - top, top); }
  context.stroke();
  context.restore();
  const text = state === "open" ? "missing" : "lost";
  if (width > context.measureText(text).width + 8) {
    context.fillStyle = colors.gap; context.textAlign = "center"; context.textBaseline = "alphabetic";
    context.fillText(text, start + width / 2, top + 16);
  }
}

/** In-place Fourier transform of a power of two. */
export function transform(real, imaginary) {
  const n = real.length;
  for (let i = 1, j = 0; i < n; i += 1) {
    let bit = n >> 1;
    for (; j & bit; bit >>= 1) j ^= bit;
    j ^= bit;
    if (i < j) { [real[i], real[j]] = [real[j], real[i]]; [imaginary[i], imaginary[j]] = [imaginary[j], imaginary[i]]; }
  }
  for (let size = 2; size <= n; size <<= 1) {
    const angle = -2 * Math.PI / size;
    for (let start = 0; start < n; start += size) {
      for (let k = 0; k < size / 2; k += 1) {
        const c = Math.cos(angle * k), s = Math.sin(angle * k);
        const a = start + k, b = a + size / 2;
        const re = real[b] * c - imaginary[b] * s, im = real[b] * s + imaginary[b] * c;
        real[b] = real[a] - re; imaginary[b] = imaginary[a] - im;
        real[a] += re; imaginary[a] += im;
      }
    }
  }
}

/**
 * The amplitudes of a field's latest samples before a time, by frequency: `{rate, amplitudes, peak}`; null for too few.
 *
 * Columns of several samples have no spectrum: what is faster than they are would appear as something slow.
 */
export function spectrum(source, field, to, span) {
  if (source.isColumns) return null;
  const low = source.low.get(field), high = source.high.get(field);
  const end = source.indexOf(to), farthest = source.indexOf(to - span);
  let begin = end;
  while (begin > farthest && !(low[begin - 1] < high[begin - 1])) begin -= 1;
  let n = 1;
  while (n * 2 <= Math.min(2048, end - begin)) n *= 2;
  if (n < 32) return null;
  const real = new Float64Array(n), imaginary = new Float64Array(n);
  let sum = 0, known = 0;
  for (let i = 0; i < n; i += 1) { const v = (low[end - n + i] + high[end - n + i]) / 2; real[i] = v; if (v === v) { sum += v; known += 1; } }
  if (known === 0) return null;
  const mean = sum / known;
  for (let i = 0; i < n; i += 1) real[i] = (real[i] === real[i] ? real[i] - mean : 0) * (0.5 - 0.5 * Math.cos(2 * Math.PI * i / n));
  transform(real, imaginary);
  const rate = (n - 1) / (source.times[end - 1] - source.times[end - n]);
  const amplitudes = new Float64Array(n / 2);
  let peak = 1;
  // The window halves a sine's amplitude.
  for (let i = 1; i < n / 2; i += 1) { amplitudes[i] = 4 * Math.hypot(real[i], imaginary[i]) / n; if (amplitudes[i] > amplitudes[peak]) peak = i; }
  // Between its neighbors a peak's place follows from a parabola.
  const [a, b, c] = [amplitudes[peak - 1], amplitudes[peak], amplitudes[peak + 1] ?? 0];
  const shift = a - 2 * b + c !== 0 ? 0.5 * (a - c) / (a - 2 * b + c) : 0;
  return { rate, amplitudes, peak: (peak + Math.max(-0.5, Math.min(0.5, shift))) * rate / n, amplitude: b };
}

/** Draws spectra `{color, spectrum}` over their frequencies. */
export function drawSpectra(canvas, spectra, { empty = "", key = "" }) {
  const area = prepare(canvas);
  if (!area) return;
  const { context, left, right, top, bottom } = area;
  const colors = palette();
  const known = spectra.filter((entry) => entry.spectrum);
  let high = 0, limit = 0;
  for (const { spectrum: { rate, amplitudes } } of known) {
    limit = Math.max(limit, rate / 2);
    for (const amplitude of amplitudes) if (amplitude > high) high = amplitude;
  }
  limit ||= 50;
  const old = plots.get(canvas);
  high = old?.key === key && high <= old.high && high > old.high * 0.5 ? old.high : (high || 1) * 1.15;
  plots.set(canvas, { key, from: 0, to: limit, low: 0, high, left, right, top, bottom });
  const y = (number) => bottom - number / high * (bottom - top);
  drawScale(context, area, colors, 0, high, y);
  const scale = (right - left) / limit;
  const step = tickStep(limit, (right - left) / 60);
  context.textAlign = "center"; context.textBaseline = "alphabetic"; context.fillStyle = colors.muted;
  context.beginPath();
  for (let tick = step; tick <= limit; tick += step) {
    const x = left + tick * scale;
    context.moveTo(x, top); context.lineTo(x, bottom);
    if (right - x > 18) context.fillText(`${Number(tick.toPrecision(6))} Hz`, x, bottom + 14);
  }
  context.stroke();
  context.lineWidth = 1.5;
  for (const { color, spectrum: { rate, amplitudes } } of known) {
    context.strokeStyle = colors[color] ?? colors.accent;
    context.beginPath();
    const perBin = rate / 2 / amplitudes.length * scale;
    amplitudes.forEach((amplitude, index) => { if (index === 0) context.moveTo(left, y(0)); else context.lineTo(left + index * perBin, y(amplitude)); });
    context.stroke();
  }
  if (known.length === 0) sayEmpty(context, area, colors, empty);
}
