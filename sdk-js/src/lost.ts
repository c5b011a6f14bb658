// What was given up, until the edge knows of it (docs/wire.md, "Event (request)").

export type Reason = "queue_full" | "refused" | "expired" | "unreadable" | "other";

const MOST = 1000000; // of one reason in a batch

export class Lost {
  private counts_: { [reason: string]: number } = {};
  private telling_?: string; // JSON, of a request that has no answer yet

  add_(reason: string, events: number): void {
    if (events > 0) this.counts_[reason] = Math.min(MOST, (this.counts_[reason] || 0) + events);
  }

  /** The next batch's member `dropped` as JSON, or "". The same until told: a batch that is sent again says the same. */
  tell_(): string {
    return (this.telling_ = this.telling_ || this.take_());
  }

  /** The edge has taken the batch. */
  told_(): void {
    this.telling_ = "";
  }

  /** What no request has told of, as JSON, or ""; it is forgotten here. */
  take_(): string {
    const text = JSON.stringify(this.counts_);
    this.counts_ = {};
    return text == "{}" ? "" : text;
  }

  /** Adds what take gave, perhaps in an earlier page. */
  put_(text: string | undefined): void {
    try {
      const counts = JSON.parse(text!);
      for (const reason in counts) this.add_(reason, +counts[reason]);
    } catch {}
  }
}
