// What can wait until the page is idle: sending by fetch, recovery, the mirror, page views
// of single-page shops, the worker, and what the console is told.

import { batchOf } from "./batch";
import { start as startCore, worthIt } from "./core";
import { listen as listenToDataLayer } from "./datalayer";
import { decorate, handedOver } from "./link";
import { COMPANY, log, setDebug, tell, watchLog } from "./log";
import { Lost, type Reason } from "./lost";
import { Mirror } from "./mirror";
import { forgetAgreed, noteAgreed, setNetworks, whoAgreed, withdrawal } from "./networks";
import { type Entry, type Page } from "./page";
import { recover } from "./recovery";
import { Sender } from "./sender";
import { attempt, del, get, put, trusted } from "./store";
import type { Config, Consent } from "./types";
import { Views } from "./views";
import { arrival, endSession, framed, type Landing, missed, session } from "./visitor";

declare const OVERLAY: string; // a file's name, set by the build
declare const TAG: boolean; // set by the build: the SDK comes by its script's tag, not by the package

const ANSWER = "trb_consent";
const LOST = "trb_lost:"; // and the company: what pages gave up that the edge does not know of
const RECOVER = 3000; // ms after the start, so that the page's own work is done first
const LINGER = 1000; // ms
const LARGEST = 32768; // bytes of an event that the edge takes
const LOCK = 1000; // ms: what page.ts waits for it
const WAIT = 3600000; // ms: how long an unknown or archived company is not asked for again in a tab

export type Calls = { [name: string]: any };

/** Whether an answer to the consent question is none that the edge takes. */
const odd = (answer: unknown): boolean => {
  if (/^(denied|granted( [a-z]{1,17}\d{0,3}(, *[a-z]{1,17}\d{0,3}){0,7})?)$/.test(answer as string)) return false;
  tell("consent", 'consent() takes "granted", "granted meta,ga4" or "denied"');
  return true;
};

const on = (value: unknown): boolean => !!value && value != "false";

/** Connects to the page. calls are the public methods, which get the time of the call first; persist is page.ts's. */
export function connect(page: Page, calls: Calls, persist: () => void): void {
  let begun = false;
  let last = 0; // the highest number
  let hidden = 0; // events that the shop's hook has left out since
  let denied = false; // since the highest number
  let dead = false; // every event would be refused
  let landing = false; // its view is taken, which is no longer shown
  const mirror = new Mirror();
  const views = new Views(page);
  const lost = new Lost();
  const free = (): boolean => (page.answer_ ? /^granted( |$)/.test(page.answer_) : !page.config_!.requireConsent);

  const remove = (e: Entry): void => {
    page.entries_.delete(e.id_);
    del(e.key_);
    mirror.set(e.key_, null);
  };
  /** Of a number that is left out the event was given up: too many waited, unless the shop's hook or a denial says why. */
  const numbered = (e: Entry, why?: Reason): void => {
    const { seq } = e.raw_[6];
    if (!(seq > last)) return; // a hook may have changed it
    const gap = seq - last - 1;
    const other = why || denied ? gap : Math.min(hidden, gap);
    lost.add_("other", other);
    lost.add_("queue_full", gap - other);
    last = seq;
    hidden = 0;
    denied = false;
  };
  /** What is not told yet is left to the next page that recovers. */
  const keepLost = (): void => {
    const text = lost.take_();
    if (!text || !free()) return;
    lost.put_(get(LOST + page.config_!.companyId));
    lost.put_(text);
    put(LOST + page.config_!.companyId, lost.take_());
  };
  /** Of a batch the rest goes on. What may be mended soon keeps the events for the next page. */
  const refused = ({ code, all }: { code: string; all: boolean }): void => {
    if (!all) return keepLost();
    page.halted_ = 1;
    if (code && !/company/.test(code)) return;
    dead = true;
    lost.add_("refused", page.entries_.size);
    for (const e of [...page.entries_.values()]) remove(e);
    keepLost();
    if (code) attempt(() => (sessionStorage.trb_no = page.prefix_ + " " + Date.now()));
  };
  const sender = new Sender(
    page,
    () => free() && !page.halted_,
    remove,
    (e) => views.held_(e, Date.now() - linger()),
    refused,
    lost,
  );

  /** Adds what is stored of the visitor. */
  const complete = (e: Entry): void => {
    const context = e.raw_[6];
    context.frame = (context.frame && framed()) || undefined;
    context.sessionId = session(+new Date(e.raw_[2]));
    const { campaign, clickIds } = arrival("" + context.url, context.sessionId);
    context.campaign = campaign;
    context.clickIds = clickIds;
    setNetworks(context, context.consent);
    noteAgreed(context.consent, context.visitorId);
  };
  /** Writes an event that was completed anew. */
  const rewrite = (e: Entry): void => {
    e.text_ = JSON.stringify(e.raw_);
    if (get(e.key_)) put(e.key_, e.text_);
    mirror.set(e.key_, e.text_);
  };
  /** Gives up an event that the edge would refuse, before its batch is too large for anybody. */
  const tooLarge = (e: Entry): boolean => {
    const text = JSON.stringify(e.raw_);
    if (text.length * 3 <= LARGEST || new Blob([text]).size <= LARGEST) return false; // a UTF-16 unit has at most three bytes
    lost.add_("refused", 1);
    page.entries_.delete(e.id_); // it is sent by nobody
    tell("large", "dropped " + e.raw_[3] + ": an event has at most 32 KiB");
    return true;
  };
  const linger = (): number => +(page.config_!.linger ?? LINGER);

  page.on_ = (e, visitor) => {
    if (visitor) {
      complete(e);
      if (!page.halted_) sender.schedule_(linger());
      queueMicrotask(() => e.text_ && page.entries_.has(e.id_) && mirror.set(e.key_, e.text_));
      return;
    }
    numbered(e);
    if (tooLarge(e)) {
      setTimeout(() => remove(e), 1); // after it was stored
      return;
    }
    log("taken", e.raw_[3], e.id_, e.raw_[4], e.raw_[5]);
    if (dead) setTimeout(() => remove(e), 1); // after it was stored
    if (e.raw_[3] == "PAGE_VIEW" && !landing) views.taken_(e);
  };

  /** Takes the view of a landing page that was left before the script was there. */
  const land = ({ at, ...seen }: Landing): void => {
    const config = page.config_!;
    const hook = config.before_send;
    landing = true;
    page.config_ = {
      ...config,
      before_send(event) {
        Object.assign(event.context, seen);
        return hook ? hook(event) : event;
      },
    };
    attempt(() => calls.page(at));
    page.config_ = config;
    landing = false;
  };

  /** Once there is a config. */
  const begin = (): void => {
    const config = page.config_!;
    begun = true;
    overlay(page);
    const hook: any = config.before_send;
    if (hook)
      config.before_send = (event: any) => {
        const made = hook(event);
        if (made && !made.event) tell("before_send", "before_send must return the event, or null to drop it: the event is dropped");
        return (made && made.event && made) || (hidden++, false);
      };
    if (on(config.debug)) setDebug(1);
    const { domains } = config;
    const others: readonly string[] | undefined = typeof domains == "string" ? domains.split(/[\s,]+/) : domains;
    const [prefix, since] = (attempt(() => sessionStorage.trb_no as string) || "").split(" ");
    if (prefix == page.prefix_ && Date.now() - +since < WAIT) {
      log("nothing is sent: the company was refused");
      refused({ code: "", all: true });
    }
    if (page.answer_ && odd(page.answer_)) {
      del(ANSWER); // page.ts takes any
      for (const e of page.entries_.values()) delete e.raw_[6].consent;
      consent(0); // a privacy signal may answer
    }
    if (others && free()) {
      const visitor = handedOver(others);
      if (visitor) {
        page.visitor_ = visitor;
        for (const e of page.entries_.values()) if (!e.sent_) e.raw_[6].visitorId = visitor;
      }
    }
    if (others) decorate(others, () => (free() ? page.visitor_ : undefined));
    const early = config.pageViews != false && missed(page.url_, page.prefix_); // what follows keeps it for the tab
    persist();
    if (page.answer_ == "denied") {
      denied = true; // the view is not taken
      mirror.clear();
      withdraw();
    }
    let viewed = page.url_;
    for (const e of [...page.entries_.values()]) {
      numbered(e, "other"); // a page is left long before so many wait
      if (tooLarge(e)) {
        remove(e);
        continue;
      }
      if (e.raw_[3] == "PAGE_VIEW") {
        views.taken_(e);
        if (!hook) viewed = e.raw_[6].url; // a hook may have changed it
      }
      if (!e.text_ || e.sent_) continue;
      complete(e);
      rewrite(e);
      log("taken before", e.raw_[3], e.id_);
    }
    if (early) land(early);
    if (config.pageViews != false) views.watch_(viewed, () => calls.page(Date.now()));
    if (TAG && on(config.datalayer)) listenToDataLayer((name, payload) => calls.track(Date.now(), name, payload));
    const listen = addEventListener;
    // In the capturing phase: before the beacon, which the page's own listener sends.
    listen("pagehide", () => views.settle_(), true);
    listen("visibilitychange", () => views.settle_(), true);
    listen("pagehide", left);
    listen("visibilitychange", () => document.hidden && left());
    listen("online", () => sender.schedule_(0));
    listen("securitypolicyviolation", ({ effectiveDirective, blockedURI, disposition }) => {
      if (disposition == "report" || effectiveDirective != "connect-src" || !blockedURI.startsWith(page.edge_)) return;
      page.halted_ = 1; // a page's policy stays; the events are kept for the next
      tell("policy", "nothing is sent: the page's Content-Security-Policy refuses it. Add " + new URL(page.edge_).origin + " to connect-src.");
    });
    listen("storage", ({ key, newValue }) => {
      if (key == ANSWER) hear();
      else if (key && newValue === null && key.indexOf(page.prefix_) == 0) page.entries_.delete(key.slice(key.lastIndexOf(":") + 1)); // acknowledged there
    });
    setTimeout(resume, Math.max(0, RECOVER - performance.now()));
    setTimeout(resume, RECOVER); // what the page before took last was too young for the first time
    if (page.entries_.size) sender.schedule_(linger());
    hear(); // what another tab was answered before this file was there
    const pages = +(attempt(() => sessionStorage.trb_n) || 0) + 1;
    if (free()) attempt(() => (sessionStorage.trb_n = pages));
    const worker = config.worker === undefined ? "auto" : config.worker;
    if (worker == "auto" ? worthIt(pages) : on(worker)) startCore(page.edge_ + "/sdk/v1/");
  };

  /** Makes a request that may outlive the page. */
  const post = (path: string, body?: string, done?: (ok?: boolean) => void): void => {
    attempt(() =>
      fetch(page.edge_ + path, { method: "POST", body, keepalive: true, credentials: "include" })
        .then(({ ok }) => done?.(ok), () => done?.()),
    );
  };

  /** What no beacon has taken is sent by a fetch that may outlive the page. */
  const left = (): void => {
    sender.left_();
    keepLost();
    const rest = [...page.entries_.values()].filter((e) => e.text_ && !e.sent_);
    if (!rest.length || !free() || page.halted_ || "sendBeacon" in navigator) return;
    const body = batchOf(page.config_!.companyId, rest.slice(0, 50));
    post("/v1/events", body);
  };

  /** Sends what earlier pages left, one tab at a time, and what is queued. */
  const resume = (): void => {
    if (!free()) return;
    const take = async (lock?: unknown) => {
      if (lock === null) return;
      lost.put_(get(LOST + page.config_!.companyId));
      del(LOST + page.config_!.companyId);
      if (await recover(page, mirror, lost)) await sender.send_();
    };
    const locks = (navigator as any).locks;
    if (locks) locks.request("trb:recover", { ifAvailable: true }, take).catch(() => take());
    else take();
  };

  let withdrawing = false;
  /** Whoever agreed to networks is told of no more. What fails is tried again by the next page. */
  const withdraw = (): void => {
    const visitor = withdrawing ? undefined : whoAgreed();
    if (!visitor) return;
    withdrawing = true;
    post("/v1/events", withdrawal(page.config_!.companyId, visitor), (ok) => {
      withdrawing = false;
      if (!ok) return;
      forgetAgreed(visitor);
      if (whoAgreed() != visitor) withdraw(); // storage and cookie may have different ones
    });
  };
  // The server's own cookie ends too, where it is on the shop's site.
  const forgetServer = () => post("/v1/forget?companyId=" + encodeURIComponent(page.config_!.companyId));
  const { consent, reset, identify } = calls;
  /** heard: in another tab, which has stored the answer and told the server. Whoever heard writes none: two tabs could go on for ever. */
  const answered = (given: Consent, heard?: 1): void => {
    if (odd(given)) return;
    const again = get(ANSWER) == given;
    consent(0, given, heard);
    if (!begun) return;
    if (given == "denied") {
      denied = true;
      log("consent is denied: nothing is taken or kept");
      endSession();
      mirror.clear();
      withdraw();
      if (!heard && !again) forgetServer();
    } else {
      for (const e of page.entries_.values()) {
        if (!e.text_) continue;
        setNetworks(e.raw_[6], given, 1); // without what was taken back
        rewrite(e);
      }
      sender.schedule_(0);
      setTimeout(resume, RECOVER); // what other open tabs have kept until now they send themselves
    }
  };
  calls.consent = (_: number, given: Consent): void => answered(given);
  const hear = (): void => {
    const answer = get(ANSWER) as Consent | undefined;
    if (answer && answer != page.answer_) answered(answer, 1);
  };
  calls.reset = (): void => {
    reset(0);
    endSession();
    if (free()) forgetServer();
    log("reset: a new visitor");
  };
  calls.identify = (at: number, who: any): void => {
    if (who?.slice) tell("identify", "identify() takes an object"); // page.ts leaves it out
    identify(at, who);
  };
  /** Resolves when page.ts may read or make a visitor: its lock was asked for before. */
  const opened = (): Promise<unknown> =>
    new Promise((resolve) => {
      const locks = (navigator as any).locks;
      setTimeout(resolve, page.visitor_ || !locks ? 0 : LOCK);
      if (locks) locks.request("trb", resolve).catch(resolve);
    });
  calls.flush = async (): Promise<boolean> => {
    await opened();
    if (!dead) page.halted_ = undefined;
    persist();
    views.settle_();
    views.close_();
    return sender.send_();
  };
  calls.getVisitorId = async (): Promise<string | null> => {
    if (free()) await opened();
    if (!free()) return null;
    persist();
    return page.visitor_ || null;
  };
  calls.debug = (_: number, to: unknown = true): void => setDebug(to);
  const { init } = calls;
  calls.init = (at: number, options: Config): void => {
    if (!options?.companyId) return begun ? tell("init", TOO_LATE) : tell("company", NO_COMPANY);
    init(at, options);
    if (!begun && page.config_) begin();
  };

  if (page.config_) begin();
  else
    setTimeout(() => {
      if (begun) return;
      tell("company", NO_COMPANY);
      overlay(page);
    }, RECOVER);
}

const NO_COMPANY = "nothing is sent: no company. Set " + COMPANY;

const TOO_LATE = "init() came too late: call it right below the stub.";

/** Shows each event on the page, where its address asks for it (?trb_debug=1). */
function overlay(page: Page): void {
  if ((window as any).tributaryOverlay || !/[?&]trb_debug=1/.test(location.search)) return;
  const script = document.createElement("script");
  let edge = page.edge_ || "";
  if (TAG) {
    const tag = document.querySelector<HTMLScriptElement>("script[src*='/sdk/v1/tributary']");
    if (tag) edge ||= tag.src.replace(/\/sdk\/v1\/.*/, "");
    if (tag && tag.nonce) script.nonce = tag.nonce;
  }
  attempt(() => (script.src = trusted(edge + "/sdk/v1/" + OVERLAY))); // a page may forbid our policy
  (window as any).tributaryOverlay = watchLog;
  document.head.append(script);
}
