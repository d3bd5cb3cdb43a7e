import type { Randomness } from '@drover/service-kit';
import type { ParkedSource } from '../parked-trigger.js';
import { encodeLease, parseLease } from '../store/lease-record.js';
import type { TriggerStore } from '../store/trigger-store.js';
import { encodeCheckpoint, parseCheckpoint } from './collection-checkpoint.js';
import type { CollectionRecords } from '../collection-records.js';
import type { CollectionTriggerOptions } from './collection-options.js';

interface ParkedCollectionOptions {
  readonly application: string;
  readonly functionName: string;
  readonly options: Pick<CollectionTriggerOptions, 'collection' | 'kinds' | 'startFrom'>;
  readonly records: CollectionRecords;
  readonly store: TriggerStore;
  readonly key: string;
  readonly address: string;
  readonly randomness: Randomness;
}

/** Only while changes cannot be followed, as before the collection is defined. */
const longestPollMs = 1_000;

/**
 * How changes of records are noticed: is there one after the checkpoint? A function without a checkpoint gets one here. Then the
 * changes are followed, which all functions of the runtime do with one read of the log.
 */
export function parkedCollection({
  application,
  functionName,
  options: { collection, kinds, startFrom },
  records,
  store,
  key,
  address,
  randomness,
}: ParkedCollectionOptions): ParkedSource {
  const trigger = { application, functionName, collection };
  const checkpoint = async (signal: AbortSignal): Promise<number | undefined> => {
    const found = await store.read(key, signal);
    const known = parseCheckpoint(found && parseLease(found.value).state);
    if (known) return known.position;
    if (found) return undefined; // a listener holds the lease and is about to store its first position
    const position = startFrom === 'beginning' ? 0 : await records.position(signal);
    const free = encodeLease({ holder: '', write: randomness.uuid(), state: encodeCheckpoint({ position }) });
    return (await store.write(key, free, undefined, signal)) === undefined ? undefined : position;
  };
  const untilChange = async (after: number, signal: AbortSignal): Promise<void> => {
    for await (const { changes } of records.follow(collection, after, signal))
      if (changes.some(({ kind }) => kinds.has(kind))) return;
    throw new Error(`the changes of the collection ${collection} cannot be followed any more`);
  };
  const untilReplay = async (signal: AbortSignal): Promise<void> => {
    for await (const changes of records.replays(trigger, signal)) if (changes.length > 0) return;
    throw new Error(`the failed changes of ${functionName} cannot be read any more`);
  };
  return {
    kind: 'source',
    key: `collection ${key}`,
    name: `collection ${collection}`,
    address,
    notifications: undefined,
    longestPollMs,
    async hasWork(_, signal) {
      const after = await checkpoint(signal);
      if (after === undefined || (await records.countReplays(trigger, 1, signal)) > 0) return true;
      return (await records.count(collection, after, 1, signal)).changes > 0;
    },
    async untilWork(signal) {
      const after = await checkpoint(signal);
      if (after === undefined) return;
      const over = new AbortController();
      const end = (): void => over.abort(new Error('the watch of the collection ended'));
      signal.addEventListener('abort', end, { once: true });
      try {
        await Promise.race([untilChange(after, over.signal), untilReplay(over.signal)]);
      } finally {
        signal.removeEventListener('abort', end);
        end();
      }
    },
  };
}
