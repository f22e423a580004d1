// What the phone keeps: each sample until the computer has it, and some longer. It survives a reload and a crash of the browser.

/** Samples of a stream that are kept though the computer has them: a program that is killed may not have passed them on. */
const kept = 3000;

const done = (request) => new Promise((resolve, reject) => {
  request.onsuccess = () => resolve(request.result);
  request.onerror = () => reject(request.error);
});

const completed = (transaction) => new Promise((resolve, reject) => {
  transaction.oncomplete = () => resolve();
  transaction.onabort = () => reject(transaction.error);
});

export class Store {
  static async open() {
    const request = indexedDB.open("holdfast-phone", 1);
    request.onupgradeneeded = () => {
      // A sample's key is [run, stream, number].
      request.result.createObjectStore("samples");
      request.result.createObjectStore("runs", { keyPath: "run" });
    };
    return new Store(await done(request));
  }

  constructor(database) { this.database = database; }

  /**
   * Runs in their order: {run, device, epoch, isOver, next, sent}. By stream, `next` is the number to be sent next, and `sent` the
   * number after the last one that was sent.
   */
  async runs() { return done(this.database.transaction("runs").objectStore("runs").getAll()); }

  async putRun(run) { await done(this.database.transaction("runs", "readwrite").objectStore("runs").put(run)); }

  /**
   * Changes a run as it is stored: a copy that was read before may lack what was stored since. When it returns, the change survives
   * a crash of the phone.
   */
  async changeRun(number, change) {
    const transaction = this.database.transaction("runs", "readwrite", { durability: "strict" });
    const runs = transaction.objectStore("runs");
    const run = await done(runs.get(number));
    if (!run) return;
    change(run);
    runs.put(run);
    await completed(transaction);
  }

  /** The number after the last sample of a stream that is kept; null without one. */
  async end(run, stream) {
    const range = IDBKeyRange.bound([run, stream, 0], [run, stream, Infinity]);
    const cursor = await done(this.database.transaction("samples").objectStore("samples").openKeyCursor(range, "prev"));
    return cursor ? cursor.key[2] + 1 : null;
  }

  /** Keeps an event's samples: [stream, number, sample]. Resolves when they would survive a crash of the page. */
  put(run, samples) {
    const transaction = this.database.transaction("samples", "readwrite");
    const store = transaction.objectStore("samples");
    for (const [stream, number, sample] of samples) store.put(sample, [run, stream, number]);
    // At once: a page that is reloaded now would not come to it.
    transaction.commit?.();
    return completed(transaction);
  }

  /**
   * Samples from a number on, at most so many, up to the first that was not kept.
   * @returns the number of the first one, null without any, and the oldest that can be sent again.
   */
  async read(run, stream, from, count) {
    const store = this.database.transaction("samples").objectStore("samples");
    const all = IDBKeyRange.bound([run, stream, 0], [run, stream, Infinity]);
    const rest = IDBKeyRange.bound([run, stream, from], [run, stream, Infinity]);
    const [oldest, keys, values] = await Promise.all([
      done(store.openKeyCursor(all)), done(store.getAllKeys(rest, count)), done(store.getAll(rest, count)),
    ]);
    if (keys.length === 0) return { first: null, oldest: null, samples: [], isFull: false };
    const first = keys[0][2];
    const hole = keys.findIndex((key, index) => key[2] !== first + index);
    return {
      // What lies before a sample that was not kept can't fill the hole.
      first, oldest: first > from ? first : oldest.key[2], samples: hole < 0 ? values : values.slice(0, hole),
      isFull: keys.length === count || hole >= 0,
    };
  }

  /** Forgets what the computer has, but for the latest. */
  async forget(run, stream, next) {
    if (next <= kept) return;
    const range = IDBKeyRange.bound([run, stream, 0], [run, stream, next - kept], false, true);
    await done(this.database.transaction("samples", "readwrite").objectStore("samples").delete(range));
  }

  async removeRun(run) {
    const transaction = this.database.transaction(["samples", "runs"], "readwrite");
    transaction.objectStore("runs").delete(run);
    await done(transaction.objectStore("samples").delete(IDBKeyRange.bound([run], [run, []])));
  }
}
