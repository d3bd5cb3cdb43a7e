import { recordChanged } from '@drover/contracts';
import { prepared, type Database } from '@drover/database';
import type { EventBus } from '@drover/event-bus';
import { BackOff, WakeUp, type Clock, type Lifecycle, type Observe, type Randomness } from '@drover/service-kit';
import type { RecordEventObservation } from './observations.js';
import type { RecordEventTail } from './record-event-tail.js';

export interface RecordEventPublisherOptions {
  readonly database: Database;
  readonly bus: Pick<EventBus, 'publish'>;
  readonly tail: Pick<RecordEventTail, 'position' | 'onWritten'>;
  readonly clock: Clock;
  readonly randomness: Randomness;
  readonly observe: Observe<RecordEventObservation>;
}

interface EventRow {
  readonly id: number;
  readonly tenant_id: string;
  readonly collection_id: string;
  readonly collection: string | null;
  readonly record_id: string;
  readonly version: number;
  readonly kind: string;
}

const batchSize = 500;
const pollMs = 1_000;
const retryBackOff = { firstMs: 100, maxMs: 5_000, factor: 2 };

const lockStatement = prepared(
  'record-publisher-lock',
  `select position from drover.record_publisher_cursor for update`,
);
const readStatement = prepared(
  'record-publisher-read',
  `select event.id, event.tenant_id, event.collection_id, collection.name as collection, event.record_id, event.version, event.kind
   from drover.record_events event left join drover.collections collection on collection.id = event.collection_id
   where event.id > $1 and event.id <= $2 order by event.id limit ${batchSize}`,
);
const moveStatement = prepared('record-publisher-move', `update drover.record_publisher_cursor set position = $1`);

/**
 * Publishes changes of records on the event bus, in their order and once each: the cursor moves in the transaction that publishes. A
 * subscriber gets names and versions, and reads the record if it needs more.
 */
export class RecordEventPublisher implements Lifecycle {
  readonly name = 'publisher of record events';
  readonly #options: RecordEventPublisherOptions;
  readonly #wakeUp = new WakeUp();
  readonly #closing = new AbortController();
  #unsubscribe: () => void = () => undefined;
  #done: Promise<void> = Promise.resolve();

  constructor(options: RecordEventPublisherOptions) {
    this.#options = options;
  }

  async start(): Promise<void> {
    this.#unsubscribe = this.#options.tail.onWritten(() => this.#wakeUp.notify());
    this.#done = this.#run();
  }

  drain(): Promise<void> {
    return Promise.resolve();
  }

  async stop(): Promise<void> {
    this.#unsubscribe();
    this.#closing.abort(new Error('the publisher was stopped'));
    await this.#done;
  }

  async #run(): Promise<void> {
    const { clock, observe } = this.#options;
    const { signal } = this.#closing;
    const failures = new BackOff(retryBackOff, this.#options);
    while (!signal.aborted) {
      this.#wakeUp.reset();
      try {
        const reached = await this.#options.tail.position();
        while (!signal.aborted && (await this.#publish(reached)));
        failures.reset();
        await this.#wakeUp.wait(clock, pollMs, signal);
      } catch (error) {
        if (signal.aborted) return;
        observe({ kind: 'record-events.publish-failed', error });
        await failures.wait(signal).catch(() => undefined);
      }
    }
  }

  /** Publishes one batch; resolves with true if there may be more. */
  #publish(reached: number): Promise<boolean> {
    const { database, bus } = this.#options;
    return database.transaction(async (tx) => {
      const [cursor] = await tx.query<{ position: number }>(lockStatement);
      const after = cursor?.position ?? 0;
      if (after >= reached) return false;
      const rows = await tx.query<EventRow>(readStatement, [after, reached]);
      const events = rows.map((row) => ({
        topic: recordChanged,
        key: row.record_id,
        generation: row.version,
        payload: {
          tenantId: row.tenant_id,
          collectionId: row.collection_id,
          collection: row.collection ?? '',
          recordId: row.record_id,
          kind: row.kind,
          position: row.id,
        },
      }));
      await bus.publish(events, tx);
      await tx.query(moveStatement, [rows.length === batchSize ? rows.at(-1)?.id : reached]);
      return rows.length === batchSize;
    });
  }
}
