// A copy of the stored events in IndexedDB. What localStorage got in the last seconds is
// lost when the browser itself is killed; what IndexedDB has reported is not.

import { attempt } from "./store";

const DB = "trb";
const STORE = "events";
const MAX = 1000;

export class Mirror {
  private db: IDBDatabase | undefined;
  private queue: [key: string, text: string | null][] = [];
  private due = false;
  /** Resolves when the database is open, or cannot be had. */
  readonly ready: Promise<void>;

  constructor() {
    this.ready = new Promise((resolve) => {
      const failed = () => resolve();
      setTimeout(failed, 2000); // some browsers never answer in private windows
      const open = attempt(() => indexedDB.open(DB, 1));
      if (!open) return resolve();
      open.onupgradeneeded = () => open.result.createObjectStore(STORE);
      open.onerror = open.onblocked = failed;
      open.onsuccess = () => {
        this.db = open.result;
        this.db.onversionchange = () => this.close();
        this.db.onclose = () => (this.db = undefined);
        resolve();
        this.flush();
      };
    });
  }

  /** Keeps a text under a key, or removes it. */
  set(key: string, text: string | null): void {
    if (this.queue.length >= MAX * 2) return;
    this.queue.push([key, text]);
    if (!this.due) {
      this.due = true;
      setTimeout(() => this.flush());
    }
  }

  private flush(): void {
    this.due = false;
    if (!this.db || !this.queue.length) return;
    const all = this.queue;
    this.queue = [];
    attempt(() => {
      const store = this.db!.transaction(STORE, "readwrite").objectStore(STORE);
      for (const [key, text] of all) text === null ? store.delete(key) : store.put(text, key);
    });
  }

  /** Everything under keys that begin with prefix, at most MAX. */
  async all(prefix: string): Promise<[key: string, text: string][]> {
    await this.ready;
    return new Promise((resolve) => {
      const found: [string, string][] = [];
      const done = () => resolve(found);
      if (!this.db) return done();
      const request = attempt(() => this.db!.transaction(STORE).objectStore(STORE).openCursor(IDBKeyRange.bound(prefix, prefix + "\uffff")));
      if (!request) return done();
      request.onerror = done;
      request.onsuccess = () => {
        const at = request.result;
        if (!at || found.length >= MAX) return done();
        found.push([String(at.key), String(at.value)]);
        at.continue();
      };
    });
  }

  clear(): void {
    this.queue = [];
    if (this.db) attempt(() => this.db!.transaction(STORE, "readwrite").objectStore(STORE).clear());
  }

  private close(): void {
    if (this.db) this.db.close();
    this.db = undefined;
  }
}
