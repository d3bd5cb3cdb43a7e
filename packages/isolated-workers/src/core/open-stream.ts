import type { StreamOptions } from '../types/worker.js';
import type { WorkerCore } from './worker.js';

/**
 * Opens a stream of items. The worker is at most `highWaterMark` items ahead of the reader. One long function, because its
 * closures share the state of one iterator.
 */
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
  let consumed = 0;

  const finish = (end: { readonly error?: unknown }): void => {
    const [first, ...others] = readers.splice(0);
    // The error is reported once: to a waiting reader, otherwise to the next one.
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
  /** Returns credit in halves of the limit, so that not every item costs a message. */
  const grant = (): void => {
    consumed += 1;
    if (consumed < Math.max(1, highWaterMark / 2)) return;
    core.grant(request, consumed);
    consumed = 0;
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
      core.abandon(request, new DOMException('The reader left the stream.', 'AbortError'));
      over = {};
      return Promise.resolve({ value: undefined, done: true });
    },
  };
}
