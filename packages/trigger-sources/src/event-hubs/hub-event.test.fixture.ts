import type { HubEvent } from './hub-client.js';

/** An event with the given number; every other field has a value that tests can predict. */
export function hubEvent(sequenceNumber: number, over: Partial<HubEvent> = {}): HubEvent {
  return {
    sequenceNumber,
    offset: String(sequenceNumber * 100),
    enqueuedAtMs: 1_000 * sequenceNumber,
    partitionKey: undefined,
    body: Buffer.from(`event ${sequenceNumber}`),
    properties: {},
    systemProperties: {},
    isFinished: false,
    ...over,
  };
}

export function hubEvents(from: number, to: number): HubEvent[] {
  return Array.from({ length: to - from + 1 }, (_, index) => hubEvent(from + index));
}
