// The samples of one stream as the page keeps them: times, and the least and greatest value of each field. A sample is a column
// whose least and greatest value are the same, so that samples, columns of fast streams and the past are drawn by the same code.

/** Samples kept of a stream: 400 s of 100 Hz. More is asked of the publisher. */
const capacity = 40_000;
const maximumTexts = 200;
const maximumGaps = 1000;
const maximumHoles = 32;

/** Fields that are states of a device, and not a signal to plot. */
const stateField = /batter|accuracy|charg|temperature|rssi|confidence/i;

export class Series {
  constructor(name) {
    this.name = name;
    this.description = null;
    /** Numeric fields, in the order in which they came. */
    this.fields = [];
    this.times = new Float64Array(1024);
    this.low = new Map();
    this.high = new Map();
    this.count = 0;
    /** Rows of streams with text: {time, values}, newest last. */
    this.texts = [];
    /** By epoch and first number: {epoch, first, from, to, count, state}. */
    this.gaps = new Map();
    this.latest = new Map();
    this.epoch = null;
    /** Grows with each change, so that a plot knows whether to draw. */
    this.version = 0;
    this.isFresh = true;
    /** From when on the past was asked for. */
    this.askedFrom = Infinity;
    /** What was missed while there was no connection, and is fetched when it is looked at: {from, to}. */
    this.holes = [];
    this.arrivals = [];
    /** Seconds that the newest sample is behind the console's clock, at least: of a device whose clock is wrong. */
    this.lag = 0;
    this.hasLag = false;
    this.isColumns = false;
  }

  describe(description) {
    this.description = description;
    if (this.fields.length > 0 || !Array.isArray(description.fields)) return;
    description.fields.forEach((field, index) => {
      if (field !== "uptime" && (description.types?.[index] ?? "number") === "number") this.field(field);
    });
  }

  /** The first samples of a new connection end a hole. */
  reconnected() { this.isFresh = true; }

  /** Fields with a signal, as groups that share a scale: ["x", "y", "z"], ["gravity.x", …]. */
  get groups() {
    const groups = new Map();
    for (const field of this.fields) {
      if (stateField.test(field)) continue;
      const match = /^(?:(.*)\.)?([xyzw])$/.exec(field);
      const key = match ? match[1] ?? "" : "*";
      if (!groups.has(key)) groups.set(key, []);
      if (groups.get(key).length < 6) groups.get(key).push(field);
    }
    return [...groups].map(([name, fields]) => ({ name: name === "*" ? fields.join(", ") : name || fields.join(", "), fields }));
  }

  /** Fields shown as numbers alone. */
  get states() { return this.fields.filter((field) => stateField.test(field)); }

  field(name) {
    if (this.low.has(name)) return;
    this.fields.push(name);
    for (const values of [this.low, this.high]) values.set(name, new Float32Array(this.times.length).fill(NaN));
  }

  /** Takes a batch. Returns the hole before it, if it is the first one of a connection. */
  append(batch) {
    const columns = batch.columns;
    const values = columns ?? batch.fields ?? {};
    const times = batch.times ?? [];
    if (times.length === 0) return null;
    this.isColumns = Boolean(columns);
    if (columns && batch.width > 0) this.columnWidth = batch.width;
    this.epoch = batch.epoch ?? this.epoch;
    const rows = this.split(values, times);
    const before = this.count > 0 ? this.times[this.count - 1] : -Infinity;
    for (const name of Object.keys(rows)) this.field(name);
    if (times[0] >= before) {
      this.room(times.length);
      this.put(this.count, rows, times, columns);
      this.count += times.length;
      this.noteLag(times, batch.received);
      for (const [name, list] of Object.entries(rows)) {
        const last = list[list.length - 1];
        const number = Array.isArray(last) ? (last[0] + last[1]) / 2 : last;
        if (typeof number === "number") this.latest.set(name, number);
      }
    } else {
      this.merge(rows, times, Boolean(columns));
    }
    this.noteArrival(times, batch.count);
    this.version += 1;
    const wasFresh = this.isFresh;
    this.isFresh = false;
    return wasFresh ? { from: before, to: times[0] } : null;
  }

  /** Numbers stay; rows that have anything else go to the list of texts. */
  split(values, times) {
    const numbers = {};
    const others = {};
    for (const [name, list] of Object.entries(values)) {
      if (!Array.isArray(list)) continue;
      const isText = list.some((entry) => entry !== null && typeof entry !== "number" && !(Array.isArray(entry) && entry.length === 2 && typeof entry[0] === "number"));
      const type = this.typeOf(name);
      if (isText || (type && type !== "number")) others[name] = list;
      else numbers[name] = list;
    }
    if (Object.keys(others).length > 0) {
      times.forEach((time, index) => {
        const row = Object.entries(values).map(([name, list]) => [name, list[index]]).filter(([, entry]) => entry !== null && entry !== undefined);
        if (row.length > 0) this.texts.push({ time, row });
      });
      if (this.texts.length > 1 && this.texts.at(-1).time < this.texts.at(-2).time) this.texts.sort((a, b) => a.time - b.time);
      if (this.texts.length > maximumTexts) this.texts.splice(0, this.texts.length - maximumTexts);
    }
    return numbers;
  }

  typeOf(field) {
    const index = this.description?.fields?.indexOf(field) ?? -1;
    return index >= 0 ? this.description.types?.[index] ?? "number" : null;
  }

  /** Makes room for more at the end: grows up to the capacity, then forgets the oldest quarter. */
  room(more) {
    if (this.count + more <= this.times.length) return;
    if (this.times.length < capacity) {
      const size = Math.min(capacity + 4096, Math.max(this.times.length * 2, this.count + more));
      const grow = (array, Kind) => { const larger = new Kind(size); if (Kind === Float32Array) larger.fill(NaN); larger.set(array.subarray(0, this.count)); return larger; };
      this.times = grow(this.times, Float64Array);
      for (const values of [this.low, this.high]) for (const [name, array] of values) values.set(name, grow(array, Float32Array));
    }
    if (this.count + more > this.times.length) {
      const gone = Math.min(this.count, Math.max(Math.floor(this.count / 4), this.count + more - this.times.length));
      const shift = (array) => { array.copyWithin(0, gone, this.count); };
      shift(this.times);
      for (const values of [this.low, this.high]) for (const array of values.values()) { shift(array); array.fill(NaN, this.count - gone); }
      this.count -= gone;
      // What was fetched of the past is gone with it, and may be asked for again.
      this.askedFrom = Infinity;
    }
  }

  put(at, rows, times, isColumns) {
    const n = Math.min(times.length, this.times.length - at);
    for (let i = 0; i < n; i += 1) this.times[at + i] = times[i];
    for (const name of this.fields) {
      const list = rows[name];
      const low = this.low.get(name), high = this.high.get(name);
      for (let i = 0; i < n; i += 1) {
        const entry = list?.[i] ?? NaN;
        low[at + i] = isColumns && Array.isArray(entry) ? entry[0] ?? NaN : entry;
        high[at + i] = isColumns && Array.isArray(entry) ? entry[1] ?? NaN : entry;
      }
    }
  }

  /** Puts samples among those that are there, each at its time; one whose time is taken replaces it. */
  merge(rows, times, isColumns) {
    if (times.length === 0) return;
    const all = this.snapshot();
    const added = new Series(this.name);
    for (const name of this.fields) added.field(name);
    added.room(times.length);
    added.put(0, rows, times, isColumns);
    added.count = Math.min(times.length, added.times.length);
    const total = Math.min(capacity, all.count + added.count);
    this.count = 0;
    this.room(total);
    const put = (from, index) => {
      this.times[this.count] = from.times[index];
      for (const name of this.fields) {
        this.low.get(name)[this.count] = from.low.get(name)?.[index] ?? NaN;
        this.high.get(name)[this.count] = from.high.get(name)?.[index] ?? NaN;
      }
      this.count += 1;
    };
    // What does not fit is the oldest.
    let skip = all.count + added.count - total;
    let i = 0, j = 0;
    while (i < all.count || j < added.count) {
      const takesOld = j >= added.count || (i < all.count && all.times[i] < added.times[j]);
      const from = takesOld ? all : added;
      const index = takesOld ? i : j;
      if (takesOld) i += 1; else { if (i < all.count && all.times[i] === added.times[j]) i += 1; j += 1; }
      if (skip > 0) { skip -= 1; continue; }
      if (this.count < this.times.length) put(from, index);
    }
    this.version += 1;
  }

  snapshot() {
    const copy = { count: this.count, times: this.times.slice(0, this.count), low: new Map(), high: new Map() };
    for (const name of this.fields) {
      copy.low.set(name, this.low.get(name).slice(0, this.count));
      copy.high.set(name, this.high.get(name).slice(0, this.count));
    }
    return copy;
  }

  /** A series of columns as /api/history and a session's overview answer them. */
  static of(name, past) {
    const series = new Series(name);
    series.insert(past, -Infinity, Infinity);
    return series;
  }

  /** Fills a span with columns of the past, where nothing is known yet. */
  insert(past, from, to) {
    const times = [], rows = {};
    const kept = [];
    (past.times ?? []).forEach((time, index) => {
      if (time >= from && time < to && !this.knows(time, past.width ?? 0)) { kept.push(index); times.push(time); }
    });
    for (const [name, list] of Object.entries(past.columns ?? {})) { this.field(name); rows[name] = kept.map((index) => list[index]); }
    this.merge(rows, times, true);
    // An end that is not known lies outside; of what is told live already, the live one says more.
    for (const gap of past.gaps ?? []) {
      const span = { from: Math.max(gap.from ?? from, -1e12), to: Math.min(gap.to ?? to, 1e12) };
      const isKnown = [...this.gaps.values()].some((known) => known.from < span.to && known.to > span.from);
      if (!isKnown) this.setGap({ epoch: "past", first: span.from, count: gap.count ?? 0, ...span, state: "lost" });
    }
    this.version += 1;
  }

  noteHole(from, to) {
    this.holes.push({ from, to });
    if (this.holes.length > maximumHoles) this.holes.shift();
  }

  /** Removes and returns the parts of holes that lie in a span. */
  takeHoles(from, to) {
    const taken = [], left = [];
    for (const hole of this.holes) {
      const part = { from: Math.max(hole.from, from), to: Math.min(hole.to, to) };
      if (part.from >= part.to) { left.push(hole); continue; }
      taken.push(part);
      if (hole.from < part.from) left.push({ from: hole.from, to: part.from });
      if (part.to < hole.to) left.push({ from: part.to, to: hole.to });
    }
    this.holes = left.slice(-maximumHoles);
    return taken;
  }

  knows(time, width) {
    const index = this.indexOf(time);
    return index < this.count && this.times[index] < time + width;
  }

  setGap({ epoch = "", first, count, from, to, state }) {
    // Before the first sample that the console had, and after the last one, nothing is known but how many are missing.
    if ((from ?? to ?? null) === null) from = this.last;
    from ??= to - count * this.period;
    to ??= from + (count + 1) * this.period;
    const key = `${epoch}:${first}`;
    if (state === "lost") {
      // What is not lost of the open gap has arrived.
      for (const [other, gap] of this.gaps) {
        const isPart = gap.epoch === epoch && gap.first <= first && first + count <= gap.first + gap.count;
        if (gap.state === "open" && isPart) this.gaps.delete(other);
      }
    }
    if (state === "recovered") this.gaps.delete(key);
    else this.gaps.set(key, { epoch, first, from, to, count, state });
    if (state === "recovered") {
      // A server that joins or splits runs of missing numbers: what lies in the recovered span is recovered.
      for (const [other, gap] of this.gaps) if (gap.from >= from - 1e-6 && gap.to <= to + 1e-6 && (gap.state === "open" || other.startsWith("past:"))) this.gaps.delete(other);
      this.recovered = (this.recovered ?? 0) + count;
    }
    if (this.gaps.size > maximumGaps) this.gaps.delete(this.gaps.keys().next().value);
    this.version += 1;
  }

  /** Missing samples: still asked for, and lost. */
  get missing() {
    let open = 0, lost = 0, gaps = 0;
    for (const gap of this.gaps.values()) { gaps += 1; if (gap.state === "open") open += gap.count; else lost += gap.count; }
    return { gaps, open, lost };
  }

  /** The first index whose time is not before this. */
  indexOf(time) {
    let low = 0, high = this.count;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.times[middle] < time) low = middle + 1; else high = middle;
    }
    return low;
  }

  get first() { return this.count > 0 ? this.times[0] : Infinity; }
  get last() { return this.count > 0 ? this.times[this.count - 1] : -Infinity; }

  /** The usual time between two samples, of the latest ones. */
  get period() {
    const n = Math.min(64, this.count - 1);
    if (n < 1) return this.description?.rate > 0 ? 1 / this.description.rate : 1;
    const steps = [];
    for (let i = this.count - n; i < this.count; i += 1) steps.push(this.times[i] - this.times[i - 1]);
    steps.sort((a, b) => a - b);
    return steps[steps.length >> 1] || 1e-3;
  }

  /** Counts samples for the rate, late ones in their place. Of columns, only the count says how many there are. */
  noteArrival(times, count) {
    const samples = Number.isFinite(count) ? count : times.length;
    const width = this.isColumns ? this.columnWidth ?? 0 : 0;
    this.arrivals.push({ first: times[0], time: times[times.length - 1] + width, samples });
    this.arrivals = this.arrivals.filter((arrival) => arrival.time >= this.last - 5).slice(-4000);
  }

  /** How far the newest sample is behind the console's clock. */
  noteLag(times, received) {
    if (Number.isFinite(received)) {
      const lag = received - times[times.length - 1];
      // The least is the device's; what is more is how long samples took.
      this.lag = !this.hasLag || Math.abs(lag) < Math.abs(this.lag) ? lag : this.lag + (lag - this.lag) * 0.1;
      this.hasLag = true;
    }
  }

  /** Samples per second of the last five seconds. */
  get rate() {
    if (this.arrivals.length === 0) return null;
    const span = Math.max(...this.arrivals.map((arrival) => arrival.time)) - Math.min(...this.arrivals.map((arrival) => arrival.first));
    // Between n samples there are n - 1 times.
    let samples = this.isColumns ? 0 : -1;
    for (const arrival of this.arrivals) samples += arrival.samples;
    return span > 0.2 ? samples / span : null;
  }
}
