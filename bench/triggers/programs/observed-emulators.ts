import { subscribe } from 'node:diagnostics_channel';
import type { IncomingMessage } from 'node:http';
import { startEmulators, type EmulatedService, type Emulators, type EntityConsole } from '@drover/azure-emulators';
import { sharedNowMs } from '../../harness/clock.js';
import { serveRequests } from '../../harness/program.js';

export type ObservedRequest =
  | { readonly kind: 'start' }
  /** Puts messages into a new entity, at once. */
  | { readonly kind: 'fill'; readonly service: EmulatedService; readonly entity: string; readonly count: number }
  /** Waits until the entity is empty. */
  | { readonly kind: 'drained'; readonly service: EmulatedService; readonly entity: string; readonly count: number }
  /** Sends messages at a steady rate, and waits until all are settled. */
  | { readonly kind: 'paced'; readonly service: EmulatedService; readonly entity: string; readonly count: number }
  /** Sends one message that tells when a function has it. */
  | { readonly kind: 'send'; readonly service: EmulatedService; readonly entity: string }
  /** When the last message of a client was stored in a storage queue. */
  | { readonly kind: 'stored' };

export interface ObservedAnswer {
  readonly storage?: string;
  readonly namespace?: string;
  /** From the first settled message to the last. */
  readonly fromMs?: number;
  readonly toMs?: number;
  readonly settled?: number;
  readonly sentMs?: number;
  /** From sent to settled, one for each message. */
  readonly latenciesMs?: readonly number[];
}

const body = { id: 4711, customer: 'c-0815', total: 129.5, items: ['apple', 'pear'] };
/** The events of all rounds: an event hub keeps them after they were read. */
const heldBytes = 8 * 2 ** 30;
let emulators: Emulators | undefined;
let storedMs = 0;

subscribe('http.server.response.finish', (event) => {
  const { request } = event as { readonly request: IncomingMessage }; // documented by Node.js
  if (request.method === 'POST') storedMs = sharedNowMs();
});

function consoleOf(service: EmulatedService): EntityConsole {
  const found = emulators?.consoles.get(service);
  if (!found) throw new Error(`the emulators have no ${service}`);
  return found;
}

function leftIn(service: EmulatedService, entity: string): number {
  const status = consoleOf(service)
    .entities()
    .find(({ name }) => name === entity);
  return status ? status.depth + status.inFlight + status.scheduled : 0;
}

const paceMs = 5;

/** Messages are settled nearly in order: the n-th settlement counts for the n-th message. Precise to the turn of the timer, 1 ms. */
async function paced(service: EmulatedService, entity: string, count: number): Promise<ObservedAnswer> {
  const startedMs = sharedNowMs();
  const sentMs: number[] = [];
  const latenciesMs: number[] = [];
  while (latenciesMs.length < count) {
    const now = sharedNowMs();
    const due = Math.min(count, Math.floor((now - startedMs) / paceMs));
    for (let n = sentMs.length; n < due; n += 1) {
      await consoleOf(service).send(entity, { body: JSON.stringify(body), contentType: 'application/json' });
      sentMs.push(now);
    }
    const settled = sentMs.length - leftIn(service, entity);
    while (latenciesMs.length < settled) latenciesMs.push(now - (sentMs[latenciesMs.length] ?? now));
    await new Promise((resolve) => setTimeout(resolve, 1));
  }
  return { latenciesMs };
}

async function drained(service: EmulatedService, entity: string, count: number): Promise<ObservedAnswer> {
  let fromMs = 0;
  let before = 0;
  for (;;) {
    const now = leftIn(service, entity);
    if (now < count && fromMs === 0) [fromMs, before] = [sharedNowMs(), count - now];
    if (now === 0) return { fromMs, toMs: sharedNowMs(), settled: count - before };
    await new Promise((resolve) => setTimeout(resolve, 2));
  }
}

serveRequests<ObservedRequest>(async (request): Promise<ObservedAnswer> => {
  switch (request.kind) {
    case 'start': {
      // Blobs for the checkpoints of event hubs.
      emulators = await startEmulators({ ports: { amqp: 0, queue: 0, blob: 0 }, maxBytes: heldBytes });
      const { storage = '', serviceBus = '' } = emulators.connectionStrings;
      return { storage, namespace: serviceBus };
    }
    case 'fill': {
      const { service, entity, count } = request;
      await emulators?.declare({
        queues: service === 'service-bus' ? [{ name: entity }] : [],
        topics: [],
        eventHubs: service === 'event-hubs' ? [{ name: entity, partitionCount: 4, consumerGroups: [] }] : [],
        storageQueues: service === 'queues' ? [entity] : [],
      });
      const message = { body: JSON.stringify(body), contentType: 'application/json' };
      for (let n = 0; n < count; n += 1) await consoleOf(service).send(entity, message);
      return {};
    }
    case 'drained':
      return await drained(request.service, request.entity, request.count);
    case 'paced':
      return await paced(request.service, request.entity, request.count);
    case 'send': {
      const sentMs = sharedNowMs();
      await consoleOf(request.service).send(request.entity, {
        body: JSON.stringify({ isTimed: true, sentMs }),
        contentType: 'application/json',
      });
      return { sentMs };
    }
    case 'stored':
      return { sentMs: storedMs };
  }
});
