// Page views after the first: of a single-page shop's addresses, and of pages that the
// back-forward cache shows again.

import type { Entry, Page } from "./page";
import { attempt, get, put } from "./store";

export class Views {
  /** The last page view: its title is the page's, which comes after the address. */
  private open_: Entry | undefined;
  private title_ = "";

  constructor(private page_: Page) {}

  /** Watches the history. url is the address of the last page view, which may have been left since. view takes a page view. */
  watch_(url: string, view: () => void): void {
    let path = attempt(() => new URL(url).pathname);
    const look = () => {
      if (location.pathname != path) {
        path = location.pathname;
        this.page_.referrer_ = url;
        view();
      }
      url = location.href;
    };
    for (const method of ["pushState", "replaceState"] as const) {
      const original = history[method];
      history[method] = (...args: any): void => {
        this.settle_(); // from now on the title may be the next page's
        original.apply(history, args);
        attempt(look);
      };
    }
    attempt(look);
    addEventListener("popstate", () => attempt(look));
    addEventListener("pageshow", (e) => e.persisted && view());
  }

  /** A page view was taken. */
  taken_(e: Entry): void {
    this.settle_();
    this.open_ = e;
    this.title_ = document.title;
    if (e.raw_[6].title != this.title_) this.open_ = undefined; // before_send has changed it
  }

  /** Gives the open page view the title that the page has now. */
  settle_(): void {
    const e = this.open_;
    if (!e || e.sent_ || document.title == this.title_) return;
    e.raw_[6].title = this.title_ = document.title;
    if (!e.text_) return;
    e.text_ = JSON.stringify(e.raw_);
    if (get(e.key_)) put(e.key_, e.text_);
  }

  /** Whether a page view waits for its title: it is the open one, and was taken after since (Unix milliseconds). */
  held_(e: Entry, since: number): boolean {
    if (e != this.open_) return false;
    if (+new Date(e.raw_[2]) > since) return true;
    this.settle_();
    return false;
  }

  /** The page view waits no longer. */
  close_(): void {
    this.open_ = undefined;
  }
}
