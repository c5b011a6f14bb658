// A copy of the stored events in IndexedDB. What localStorage got in the last seconds is
// lost when the browser itself is killed; what IndexedDB has reported is not.

import { attempt } from "./store";

const DB = "trb";
const STORE = "events";
const MAX = 1000;

export class Mirror {
  private db_: IDBDatabase | undefined;
  private queue_: [key: string, text: string | null][] = [];
  private due_?: boolean;
  /** Resolves when the database is open, or cannot be had. */
  readonly ready_: Promise<void>;

  constructor() {
    this.ready_ = new Promise((resolve) => {
      const failed = () => resolve();
      setTimeout(failed, 2000); // some browsers never answer in private windows
      const open = attempt(() => indexedDB.open(DB, 1));
      if (!open) return resolve();
      open.onupgradeneeded = () => open.result.createObjectStore(STORE);
      open.onerror = open.onblocked = failed;
      open.onsuccess = () => {
        this.db_ = open.result;
        this.db_.onversionchange = () => this.close_();
        this.db_.onclose = () => (this.db_ = undefined);
        resolve();
        this.flush_();
      };
    });
  }

  /** Keeps a text under a key, or removes it. */
  set(key: string, text: string | null): void {
    if (this.queue_.length >= MAX * 2) return;
    this.queue_.push([key, text]);
    if (!this.due_) {
      this.due_ = true;
      setTimeout(() => this.flush_());
    }
  }

  private flush_(): void {
    this.due_ = false;
    if (!this.db_ || !this.queue_.length) return;
    const all = this.queue_;
    this.queue_ = [];
    attempt(() => {
      const store = this.db_!.transaction(STORE, "readwrite").objectStore(STORE);
      for (const [key, text] of all) text === null ? store.delete(key) : store.put(text, key);
    });
  }

  /** Everything under keys that begin with prefix, at most MAX. */
  async all(prefix: string): Promise<[key: string, text: string][]> {
    await this.ready_;
    return new Promise((resolve) => {
      const found: [string, string][] = [];
      const done = () => resolve(found);
      if (!this.db_) return done();
      const request = attempt(() => this.db_!.transaction(STORE).objectStore(STORE).openCursor(IDBKeyRange.bound(prefix, prefix + "\uffff")));
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
    this.queue_ = [];
    if (this.db_) attempt(() => this.db_!.transaction(STORE, "readwrite").objectStore(STORE).clear());
  }

  private close_(): void {
    if (this.db_) this.db_.close();
    this.db_ = undefined;
  }
}
