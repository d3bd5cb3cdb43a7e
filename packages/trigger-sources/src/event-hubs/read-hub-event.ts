import { AmqpReader, ifOrdinary, unusualMessage } from '../amqp/amqp-reader.js';
import { IsoTimes } from '../amqp/iso-times.js';
import type { HubEvent } from './hub-client.js';

/** Fields of the properties section in the order of AMQP, by their names in the system properties of an event. */
const propertyNames = [
  'message-id',
  'user-id',
  'to',
  'subject',
  'reply-to',
  'correlation-id',
  'content-type',
  'content-encoding',
  'absolute-expiry-time',
  'creation-time',
  'group-id',
  'group-sequence',
  'reply-to-group-id',
] as const;

/** Shared by all events without properties. */
const noProperties: Readonly<Record<string, unknown>> = Object.freeze({});
const times = new IsoTimes();

/**
 * Reads an event straight from the bytes of its message. Returns undefined for a message that is not like most: rhea decodes it.
 * `bench:triggers`, batches: 43 → 26 µs of the runtime per event, since rhea builds an object for every value.
 */
export function readHubEvent(bytes: Buffer): HubEvent | undefined {
  return ifOrdinary(() => new EventReader(bytes).read());
}

class EventReader extends AmqpReader {
  read(): HubEvent {
    const system: Record<string, unknown> = { SequenceNumber: 0, Offset: '', EnqueuedTimeUtc: '' };
    let properties = noProperties;
    let body: Uint8Array | undefined;
    let position: EventPosition | undefined;
    while (this.at < this.bytes.length) {
      switch (this.section()) {
        case 0x70:
        case 0x71:
        case 0x78:
          this.value(); // header, delivery annotations, footer: events do not show them
          break;
        case 0x72:
          position = this.#annotations(system);
          break;
        case 0x73:
          this.#properties(system);
          break;
        case 0x74:
          properties = this.map();
          break;
        case 0x75:
          if (body) throw unusualMessage;
          body = this.binary();
          break;
        default:
          throw unusualMessage;
      }
    }
    if (!position || !body) throw unusualMessage;
    const { sequenceNumber, offset, enqueuedAtMs, partitionKey } = position;
    return {
      sequenceNumber,
      offset,
      enqueuedAtMs,
      partitionKey,
      body,
      properties,
      systemProperties: system,
      isFinished: false,
    };
  }

  #annotations(system: Record<string, unknown>): EventPosition {
    let sequenceNumber = Number.NaN;
    let offset: string | undefined;
    let enqueuedAtMs = Number.NaN;
    let partitionKey: string | undefined;
    for (let left = this.pairs(); left > 0; left -= 1) {
      const name = this.text();
      const value = name === 'x-opt-enqueued-time' ? this.time() : this.value();
      if (name === 'x-opt-sequence-number') sequenceNumber = Number(value);
      else if (name === 'x-opt-offset') offset = String(value);
      else if (name === 'x-opt-enqueued-time') enqueuedAtMs = Number(value);
      else if (name !== 'x-opt-partition-key') system[name] = value;
      else if (typeof value === 'string') partitionKey = value;
    }
    if (offset === undefined || Number.isNaN(sequenceNumber) || Number.isNaN(enqueuedAtMs)) throw unusualMessage;
    system['SequenceNumber'] = sequenceNumber;
    system['Offset'] = offset;
    system['EnqueuedTimeUtc'] = times.of(enqueuedAtMs);
    if (partitionKey !== undefined) system['PartitionKey'] = partitionKey;
    return { sequenceNumber, offset, enqueuedAtMs, partitionKey };
  }

  #properties(system: Record<string, unknown>): void {
    const count = this.items();
    for (let index = 0; index < count; index += 1) {
      const value = this.value();
      const name = propertyNames[index];
      if (name === undefined) throw unusualMessage;
      if (value !== null) system[name] = value;
    }
  }
}

type EventPosition = Pick<HubEvent, 'sequenceNumber' | 'offset' | 'enqueuedAtMs' | 'partitionKey'>;
