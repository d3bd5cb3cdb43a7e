import { encodeLong, encodeString, encodeTimestamp } from '../amqp/amqp-bytes.js';
import type { AmqpError, ConsumerLink } from '../amqp/amqp-service.js';
import { encodeMapSection } from '../amqp/message-sections.js';
import { LogReader, type PartitionLog } from './partition-log.js';

const runtimeMetricCapability = 'com.microsoft:enable-receiver-runtime-metric';

/** Where a reader begins: at the sequence number, with events that were enqueued after the time. */
export interface ReaderStart {
  readonly sequence: number;
  readonly afterMs: number;
}

/** One consumer link of a partition: sends events as far as the link has capacity. */
export class PartitionReader {
  readonly #reader: LogReader;
  readonly #tracksLastEnqueued: boolean;
  readonly #link: ConsumerLink;
  readonly #log: PartitionLog;
  readonly ownerLevel: number | undefined;
  readonly #now: () => number;

  constructor(
    link: ConsumerLink,
    log: PartitionLog,
    start: ReaderStart,
    ownerLevel: number | undefined,
    now: () => number,
  ) {
    this.#link = link;
    this.#log = log;
    this.ownerLevel = ownerLevel;
    this.#now = now;
    this.#reader = new LogReader(log, start.sequence, start.afterMs);
    this.#tracksLastEnqueued = link.desiredCapabilities.includes(runtimeMetricCapability);
  }

  deliver(): void {
    while (this.#link.capacity > 0) {
      const event = this.#reader.next();
      if (!event) return;
      // Settlement means nothing to an event hub; sent settled, the client has nothing to answer.
      this.#link.deliver({ payload: this.#tracksLastEnqueued ? [this.#lastEnqueued(), event] : event, settled: true });
    }
  }

  disconnect(error: AmqpError): void {
    this.#link.close(error);
  }

  #lastEnqueued(): Buffer {
    const last = this.#log.lastEnqueued ?? { sequence: -1, offset: -1, enqueuedMs: 0 };
    return encodeMapSection('deliveryAnnotations', [
      ['last_enqueued_sequence_number', encodeLong(last.sequence)],
      ['last_enqueued_offset', encodeString(String(last.offset))],
      ['last_enqueued_time_utc', encodeTimestamp(last.enqueuedMs)],
      ['runtime_info_retrieval_time_utc', encodeTimestamp(this.#now())],
    ]);
  }
}
