import type { StreamOptions } from '../types/worker.js';
import type { WorkerCore } from './worker.js';

/** A stream of items from the worker, which is at most `highWaterMark` items ahead of whoever iterates. */
export function openStream(
  core: WorkerCore,
  type: string,
  payload: unknown,
  options: StreamOptions,
): AsyncIterableIterator<unknown> {
  const highWaterMark = Math.max(1, options.highWaterMark ?? 16);
  const items: unknown[] = [];
  const readers: { resolve: (result: IteratorResult<unknown>) => void; reject: (error: unknown) => void }[] = [];
  let over: { readonly error?: unknown } | undefined;
  let taken = 0;

  const finish = (end: { readonly error?: unknown }): void => {
    const [first, ...others] = readers.splice(0);
    // Told once: to whoever waits, else to whoever asks next.
    over = first ? {} : end;
    if ('error' in end) first?.reject(end.error);
    else first?.resolve({ value: undefined, done: true });
    for (const reader of others) reader.resolve({ value: undefined, done: true });
  };
  const request = core.request(
    type,
    payload,
    options,
    {
      resolve: () => finish({}),
      reject: (error) => finish({ error }),
      onProgress: options.onProgress,
      onItem(value) {
        const reader = readers.shift();
        if (!reader) return void items.push(value);
        reader.resolve({ value, done: false });
        grant();
      },
    },
    highWaterMark,
  );
  /** Credit goes back in halves, so that it does not cost a message an item. */
  const grant = (): void => {
    taken += 1;
    if (taken < Math.max(1, highWaterMark / 2)) return;
    core.grant(request, taken);
    taken = 0;
  };
  return {
    [Symbol.asyncIterator]() {
      return this;
    },
    next() {
      if (items.length > 0) {
        const value = items.shift();
        grant();
        return Promise.resolve({ value, done: false });
      }
      if (over) {
        const { error } = over;
        const failed = 'error' in over;
        over = {};
        return failed ? Promise.reject(error) : Promise.resolve({ value: undefined, done: true });
      }
      return new Promise((resolve, reject) => void readers.push({ resolve, reject }));
    },
    return() {
      items.length = 0;
      core.abandon(request, new DOMException('the stream was left', 'AbortError'));
      over = {};
      return Promise.resolve({ value: undefined, done: true });
    },
  };
}
