/** Limit of the content of one blob: a worker takes messages of 128 MiB, and its metadata need room, too. */
export const maxContentBytes = 127 * 1_024 * 1_024;
/** Blobs up to this size are not counted: their number is bounded by the degree of parallelism. */
export function isSmall(bytes: number): boolean {
  return bytes <= 1_024 * 1_024;
}

/** Content of large blobs that is in memory at a time, for all functions of an application. */
const budgetBytes = 2 * maxContentBytes;

interface Waiting {
  readonly bytes: number;
  readonly admit: () => void;
}

/** Bounds the memory of large blobs: callers wait, in order, until enough of the budget is free. */
export class ContentBudget {
  #used = 0;
  readonly #waiting: Waiting[] = [];

  /** Resolves with a function that releases the bytes. Rejects when the signal aborts. */
  async acquire(bytes: number, signal: AbortSignal): Promise<() => void> {
    if (isSmall(bytes)) return () => undefined;
    if (this.#waiting.length > 0 || this.#used + bytes > budgetBytes) await this.#wait(bytes, signal);
    else this.#used += bytes;
    let isHeld = true;
    return () => {
      if (!isHeld) return;
      isHeld = false;
      this.#used -= bytes;
      this.#admit();
    };
  }

  #wait(bytes: number, signal: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      if (signal.aborted) return reject(signal.reason);
      const waiting: Waiting = {
        bytes,
        admit: () => {
          signal.removeEventListener('abort', leave);
          resolve();
        },
      };
      const leave = (): void => {
        this.#waiting.splice(this.#waiting.indexOf(waiting), 1);
        this.#admit();
        reject(signal.reason);
      };
      signal.addEventListener('abort', leave, { once: true });
      this.#waiting.push(waiting);
    });
  }

  #admit(): void {
    for (let [next] = this.#waiting; next && this.#used + next.bytes <= budgetBytes; [next] = this.#waiting) {
      this.#waiting.shift();
      this.#used += next.bytes;
      next.admit();
    }
  }
}
