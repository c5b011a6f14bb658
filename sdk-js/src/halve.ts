// How many events go at a time, after answers that they are too large (413), whoever gave them.

export const BATCH = 50;

interface Large {
  /** It was too large alone. */
  large_?: 1;
}

export class Halving<E extends Large> {
  most_ = BATCH;
  private stuck_?: boolean; // an event alone was too large, and none has gone since

  constructor(
    private last_: (e: E) => void, // puts it behind the others
    private drop_: (e: E) => void,
  ) {}

  /** Whether e goes in the next batch too, which has so many already. */
  fits_(e: E, before: E[]): boolean {
    return !before[0] || (before.length < this.most_ && !e.large_ && !before[0].large_);
  }

  /** A batch was taken. */
  taken_(): void {
    this.most_ = Math.min(BATCH, this.most_ * 2);
    this.stuck_ = false;
  }

  /**
   * A batch was too large: the half of it goes next. An event alone goes once more, after the others, and is given up if it
   * is too large again. Returns whether to go on at once: two that are too large alone, one after the other, are not to blame.
   */
  large_(batch: E[]): boolean {
    const [e] = batch;
    this.most_ = batch.length >> 1 || BATCH;
    if (batch[1]) return true;
    if (e.large_) {
      this.drop_(e);
      return true;
    }
    e.large_ = 1;
    this.last_(e);
    const again = this.stuck_;
    this.stuck_ = true;
    return !again;
  }
}
