import { FileJournal } from '../../journal/file-journal.js';
import type { JournalRecord } from '../../journal/frame.js';
import type { Broker } from '../broker/broker.js';
import type { BrokerLog } from '../broker/broker-log.js';
import type { EntityDescription } from '../broker/entity-options.js';
import type { BrokerMessage } from '../broker/message.js';
import { BrokerRestore } from './broker-restore.js';
import { encodeRecord, replayRecord, type ContentCodec } from './record-codec.js';

/**
 * Writes the changes of a broker to a journal.
 * - in memory: no directory was opened; records are dropped and everything is "durable" at once
 * - open: records are appended; `durable` resolves when all of them are on disk
 */
export class JournaledLog implements BrokerLog {
  readonly #codec: ContentCodec;
  #journal: FileJournal | undefined;
  #pending: Promise<void> | undefined;

  constructor(codec: ContentCodec) {
    this.#codec = codec;
  }

  /** Restores an empty broker from a directory and records its changes there from then on. */
  async open(directory: string, broker: Broker, nowMs: number): Promise<void> {
    const restore = new BrokerRestore();
    this.#journal = await FileJournal.open({
      directory,
      replay: (record) => replayRecord(record, restore, this.#codec),
      snapshot: () => snapshotRecords(broker, this.#codec),
    });
    restore.finish(broker, nowMs);
  }

  /** Throws JournalError while the disk refuses. Call it before a change. */
  ensureWritable(): void {
    this.#journal?.ensureWritable();
  }

  /** Resolves when all changes so far are on disk. Undefined if they need not be: nothing has to be waited for. */
  durable(): Promise<void> | undefined {
    return this.#pending;
  }

  async close(): Promise<void> {
    await this.#journal?.close();
  }

  entity(description: EntityDescription): void {
    this.#append(encodeRecord.entity(description));
  }

  entityDeleted(path: string): void {
    this.#append(encodeRecord.entityDeleted(path));
  }

  message(queue: string, message: BrokerMessage): void {
    if (this.#journal !== undefined) this.#append(encodeRecord.message(queue, message, this.#codec));
  }

  removed(queue: string, sequenceNumber: number): void {
    if (this.#journal !== undefined) this.#append(encodeRecord.removed(queue, sequenceNumber));
  }

  delivered(queue: string, sequenceNumber: number): void {
    if (this.#journal !== undefined) this.#append(encodeRecord.delivered(queue, sequenceNumber));
  }

  returned(queue: string, sequenceNumber: number, deliveryCount: number): void {
    if (this.#journal !== undefined) this.#append(encodeRecord.returned(queue, sequenceNumber, deliveryCount));
  }

  sessionState(queue: string, sessionId: string, state: Buffer | undefined): void {
    this.#append(encodeRecord.sessionState(queue, sessionId, state));
  }

  seen(entity: string, messageId: string, atMs: number): void {
    this.#append(encodeRecord.seen(entity, messageId, atMs));
  }

  #append(record: JournalRecord): void {
    this.#pending = this.#journal?.append(record);
  }
}

/** Yields records that rebuild the broker as it is now. */
function* snapshotRecords(broker: Broker, codec: ContentCodec): Generator<JournalRecord> {
  for (const entity of broker.entities.all()) {
    yield encodeRecord.entity(entity.description);
    for (const [messageId, atMs] of entity.main.history.entries())
      yield encodeRecord.seen(entity.path, messageId, atMs);
    for (const queue of entity.queues()) {
      if (queue.store.lastSequenceNumber > 0) yield encodeRecord.sequence(queue.path, queue.store.lastSequenceNumber);
      for (const session of queue.store.sessions.all()) {
        if (session.state !== undefined) yield encodeRecord.sessionState(queue.path, session.id, session.state);
      }
      for (const message of queue.store.index.from(0)) {
        yield encodeRecord.message(queue.path, message, codec);
        if (message.lock !== undefined) yield encodeRecord.delivered(queue.path, message.sequenceNumber);
      }
    }
  }
}
