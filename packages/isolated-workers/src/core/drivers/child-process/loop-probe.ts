import type { WorkerSample } from '../../../types/driver.js';

/** An event loop that has not answered for this long is reported as blocked. */
const answerMs = 300;

/**
 * Measures a worker process. Its event loop is asked and answers with its memory. If it does not answer, the memory is asked
 * of the system, and the loop has been blocked at least since the first unanswered question.
 */
export class LoopProbe {
  readonly #pid: number | undefined;
  readonly #ask: () => void;
  readonly #waiting: ((sample: WorkerSample | undefined) => void)[] = [];
  #askedMs: number | undefined;
  #timer: NodeJS.Timeout | undefined;
  #lastRss = 0;

  constructor(pid: number | undefined, ask: () => void) {
    this.#pid = pid;
    this.#ask = ask;
  }

  sample(): Promise<WorkerSample | undefined> {
    return new Promise((resolve) => {
      this.#waiting.push(resolve);
      if (this.#askedMs === undefined) {
        this.#askedMs = performance.now();
        this.#ask();
      }
      const leftMs = this.#askedMs + answerMs - performance.now();
      // A busy host reads the answers that have arrived meanwhile before it decides.
      this.#timer ??= setTimeout(() => setImmediate(() => void this.#measure()), Math.max(0, leftMs));
    });
  }

  answered(rssBytes: number): void {
    this.#askedMs = undefined;
    this.#lastRss = rssBytes;
    this.#settle({ rssBytes, busyMs: 0 });
  }

  /** The worker has ended. */
  end(): void {
    this.#settle(undefined);
  }

  async #measure(): Promise<void> {
    const askedMs = this.#askedMs;
    if (askedMs === undefined || this.#waiting.length === 0) return;
    const rssBytes = (await residentBytes(this.#pid)) ?? this.#lastRss;
    if (this.#askedMs !== askedMs) return; // it answered meanwhile
    this.#settle({ rssBytes, busyMs: Math.round(performance.now() - askedMs) });
  }

  #settle(sample: WorkerSample | undefined): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    for (const resolve of this.#waiting.splice(0)) resolve(sample);
  }
}

/** Asks the system for the resident memory of a process. Undefined when it does not tell. */
async function residentBytes(pid: number | undefined): Promise<number | undefined> {
  if (pid === undefined) return undefined;
  const { readFile } = process.getBuiltinModule('node:fs/promises');
  const { execFile } = process.getBuiltinModule('node:child_process');
  const kibibytes =
    process.platform === 'linux'
      ? /^VmRSS:\s*(\d+) kB$/m.exec(await readFile(`/proc/${pid}/status`, 'utf8').catch(() => ''))?.[1]
      : await new Promise<string>((resolve) =>
          execFile('ps', ['-o', 'rss=', '-p', `${pid}`], (_, text) => resolve(text)),
        );
  return Number(kibibytes) * 1_024 || undefined;
}
