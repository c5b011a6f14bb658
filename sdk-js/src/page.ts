// What must be there before the page may be left: an event's id and time, its
// envelope, its place in storage, and the beacon. All else is in more.ts, which is
// fetched when the page is idle and connects itself by `page`. tributary.js may have
// 2 KB (gzip) and has nearly that: names that end in "_" are shortened by the build,
// alike in both files.

import { uuid } from "./id";
import { attempt, cookie, del, get, keys, put, setCookie } from "./store";
import type { Config, Consent, Identity } from "./types";

declare const VERSION: string; // set by the build

export interface Entry {
  id_: string;
  /** Of localStorage. */
  key_: string;
  /** The raw envelope (docs/notes/wire.md). */
  raw_: any[];
  /** The envelope as JSON text, once it is complete. */
  text_?: string;
  /** It may have arrived: it was sent by a beacon, which has no answer, or by another page. */
  sent_?: 1;
  /** It was too large alone. */
  large_?: 1;
}

/** What this file and more.ts share. */
export interface Page {
  config_?: Config;
  /** The edge: origin and prefix, without a slash at the end. */
  edge_: string;
  /** Of the events' keys in localStorage: "trb:<company>:". */
  prefix_: string;
  answer_?: Consent | null | false;
  visitor_?: string;
  who_?: Identity;
  referrer_: string;
  /** The address at the start, which is that of the first page view. */
  url_: string;
  /** Nothing is sent any more: it was refused for a reason that stays. */
  halted_?: 1;
  /** The events that are not acknowledged, in the order of their calls. */
  entries_: Map<string, Entry>;
  /** Of each event that is taken; and with visitor_ before its envelope becomes text, so that what is stored of the visitor is added. */
  on_(entry: Entry, visitor?: string): void;
}

export const page = { entries_: new Map(), on_() {} } as any as Page;

const ANSWER = "trb_consent";
const ID = "trb_id";

/**
 * What may be stored, so that the shop's own storage is never filled: 256 Ki UTF-16
 * units (512 KB), and by Extra, which counts for each event, 1,000 events.
 */
const enum Most {
  Units = 1 << 18,
  Extra = 262,
}

let fresh: Entry[] = []; // taken in this task, or waiting for consent
let stream: string;
let seq = 0;
let busy: unknown; // within sendBeacon: Firefox may say there that the page is hidden, which must not send again
let known: unknown; // the visitor may be read or made: no other tab is at it


export const start = (config: Config, edge: string): void => {
  page.config_ = config;
  page.edge_ = edge;
  page.prefix_ = "trb:" + config.companyId + ":";
  page.who_ ||= attempt(() => JSON.parse(sessionStorage.trb_u));
  page.referrer_ = document.referrer;
  page.url_ = location.href;
  stream = uuid(0).slice(24);
  consent(0, page.answer_ || (get(ANSWER) as Consent));
  addEventListener("pagehide", leave);
  addEventListener("visibilitychange", leave); // also of a page that is shown again, where it does no harm
  // Two tabs that are opened at once must not make two visitors. A tab that hangs with the
  // lock holds nobody up for long: what is not stored is lost in a crash.
  setTimeout(open, (navigator as any).locks?.request("trb", open).catch(open) && 1e3);
  (config.pageViews as unknown) == 0 || take(Date.now(), "PAGE_VIEW");
};

const text = JSON.stringify; // null becomes "null", which the core reads as absent

/** Takes an event. at is the time of the call in Unix milliseconds: a call of the stub is older than this one. */
export const take = (at: number, event: string, payload?: unknown, identity?: unknown): void => {
  const id = uuid(at);
  let made: any = {
    event,
    payload,
    identity: page.who_ ? { ...page.who_, ...((identity as any)?.slice || identity) } : identity,
    context: {
      url: location.href,
      referrer: page.referrer_,
      title: document.title,
      stream,
      seq: ++seq,
      locale: navigator.language,
      screen: screen.width + "x" + screen.height,
      library: { name: "sdk-js", version: VERSION },
    },
  };
  const hook = page.config_!.before_send;
  if (page.answer_ == "denied" || page.entries_.size > 999 || (hook && !text((made = hook(made)) || void 0))) return;
  const entry: Entry = {
    id_: id,
    key_: page.prefix_ + id,
    raw_: ["r1", id, new Date(at), made.event, text(made.payload), text(made.identity), { ...made.context }],
  };
  page.entries_.set(id, entry);
  fresh.push(entry) > 1 || queueMicrotask(persist); // one for all events of a task
  page.on_(entry);
};

/** The visitor's id, in a first-party cookie and in localStorage. */
const visitor = (again?: 1): string => {
  const id = (!again && (cookie(ID) || get(ID))) || uuid(Date.now());
  setCookie(ID, id);
  put(ID, id);
  return id;
};

/**
 * Stores what is only in memory, in the same task as the call: a page that is left for another site may get no turn any
 * more (Chromium gives it half a second). Completes it too, unless there is no visitor yet.
 */
export const persist = (): void => {
  if (fresh[0] && free()) {
    const ready = known || cookie(ID);
    let room: number = Most.Units;
    for (const key of keys(page.prefix_)) room -= ("" + get(key)).length + Most.Extra; // another tab may have taken it away
    for (const e of fresh.splice(0)) {
      const context = e.raw_[6];
      context.consent = page.answer_ || void 0;
      context.frame = !attempt(() => top!.location.href); // more.ts knows the site's other origins
      ready && page.on_(e, (context.visitorId = page.visitor_ ||= visitor()));
      const json = text(e.raw_);
      e.text_ = (ready && json) as string;
      if ((room -= json.length + Most.Extra) > 0) put(e.key_, json);
    }
  }
};

/** Completes all, without waiting for other tabs. */
const open = (): void => {
  known = 1;
  fresh = [...page.entries_.values()].filter((e) => !e.text_);
  persist();
};

const body = (list: Entry[]): string => text({ companyId: page.config_!.companyId, sentAt: new Date(), events: list.map((e) => e.raw_) });

/** Sends by beacon. A browser that refuses (most take 64 KiB at one time) is asked for half. */
const beacon = (list: Entry[]): void => {
  if (attempt(() => navigator.sendBeacon(page.edge_ + "/v1/events", body(list)))) list.map((e) => (e.sent_ = 1));
  else if (list[1]) {
    beacon(list.splice(list.length >> 1));
    beacon(list);
  }
};

/** The last chance of what is not acknowledged. It stays stored. */
export const leave = (): void => {
  open();
  const list = [...page.entries_.values()].filter((e) => !e.sent_);
  list[0] && free() && !page.halted_ && !busy && (busy = beacon((busy = list)));
};

/** Whether events may be stored and sent now: after "granted", with destinations behind it or not. more.ts says what is no answer. */
const free = (): unknown => (page.answer_ ? /^gr/.test(page.answer_) : !page.config_!.requireConsent);
/** The shopper's answer. heard: it is stored already, here or by another tab. */
export const consent = (_: unknown, given?: Consent | false | null, heard?: 1): void => {
  page.answer_ = given || (page.config_?.honorGPC && (navigator as any).globalPrivacyControl && "denied");
  if (page.answer_ == "denied") {
    page.entries_.clear();
    fresh = [];
    keys("trb").map((key) => key == ANSWER || del(key)); // a change of that is an answer to the other tabs
    setCookie(ID);
    reset();
  }
  persist();
  heard || (given && put(ANSWER, given));
};

/** A new visitor, as at a log-out. */
export const reset = (): void => {
  persist(); // with the visitor who made them
  page.who_ = void 0;
  attempt(() => delete sessionStorage.trb_u);
  page.visitor_ = (free() && visitor(1)) as any;
};

/** A text or a list, as who or as track's identity, would be spread into its parts: both have slice, and a function has no parts. */
export const identify = (_: unknown, who: Identity): void => {
  page.who_ = { ...page.who_, ...((who as any)?.slice || who) };
  free() && attempt(() => (sessionStorage.trb_u = text(page.who_)));
};
