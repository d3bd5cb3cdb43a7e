import type * as Sdk from '@azure/service-bus';
import type {
  PeekMessagesOptions,
  ServiceBusAdministrationClient,
  ServiceBusReceivedMessage,
} from '@azure/service-bus';
import type { Clock } from '@drover/service-kit';
import { ArrivalRate } from '../arrival-rate.js';
import { rejectOnAbort } from '../requests.js';
import type { Backlog } from '../trigger-source.js';
import type { BusClients } from './bus-clients.js';
import { failureOfBus } from './failures.js';
import type { ServiceBusConnection } from './service-bus-connection.js';
import type { ServiceBusTriggerOptions } from './service-bus-options.js';

interface BusBacklogOptions {
  readonly connection: ServiceBusConnection;
  readonly options: Pick<
    ServiceBusTriggerOptions,
    'entity' | 'isSessions' | 'isBatch' | 'batch' | 'maxConcurrentCalls' | 'maxConcurrentSessions'
  >;
  readonly clients: BusClients;
  readonly clock: Clock;
}

/** What this listener has, which is not backlog. */
interface OwnMessages {
  /** Sequence numbers. */
  readonly inFlight: ReadonlySet<string>;
  /** Messages received, without those that were returned. */
  readonly taken: number;
}

interface Counts {
  readonly activeMessageCount: number;
  readonly deadLetterMessageCount: number;
}

/** Messages looked at when the service does not count them: beyond it, the backlog is "at least". */
const longestPeek = 256;
/** After a failure the counts are not asked for during this time: most connection strings lack the right, for ever. */
const countAgainAfterMs = 60_000;
/** A peek without a start goes on after the last one. The SDK takes any object that says it is a Long. */
export const fromTheFirst = {
  __isLong__: true,
  toBytesBE: () => [0, 0, 0, 0, 0, 0, 0, 0],
} as unknown as NonNullable<PeekMessagesOptions['fromSequenceNumber']>;

const none: Backlog = { waiting: 0, oldestAgeMs: undefined };

/**
 * Measures the backlog of an entity: counts of the administration where the connection has the right to manage, else a look
 * at the first messages. Both show messages that this process has locked, so they are subtracted.
 */
export class BusBacklog {
  readonly #options: BusBacklogOptions;
  readonly #rate = new ArrivalRate();
  #administration: Promise<ServiceBusAdministrationClient> | undefined;
  #countAgainAtMs = Number.NEGATIVE_INFINITY;

  constructor(options: BusBacklogOptions) {
    this.#options = options;
  }

  async measure(own: OwnMessages, signal: AbortSignal): Promise<Backlog> {
    const { clock, options } = this.#options;
    const backlog = { ...(await this.#measure(own, signal)), targetPerWorker: targetPerWorker(options) };
    if (backlog.isAtLeast) {
      this.#rate.reset();
      return backlog;
    }
    const measured = { atMs: clock.monotonicMs(), waiting: backlog.waiting, taken: own.taken };
    return { ...backlog, arrivalsPerSecond: this.#rate.next(measured) };
  }

  async #measure(own: OwnMessages, signal: AbortSignal): Promise<Backlog> {
    const { isSessions } = this.#options.options;
    const counted = await this.#count(signal);
    if (counted !== undefined && counted <= own.inFlight.size) return none;
    const most = counted === undefined || isSessions ? longestPeek : Math.min(longestPeek, own.inFlight.size + 16);
    const { entity } = await this.#options.clients.current();
    const peeking = entity.peekMessages(most, { fromSequenceNumber: fromTheFirst });
    const peeked = await rejectOnAbort(() => peeking, signal).catch((error: unknown) => {
      if (failureOfBus(error) === 'entity-missing') return [];
      throw error;
    });
    const waiting = peeked.filter(
      ({ state, sequenceNumber }) => state === 'active' && !own.inFlight.has(String(sequenceNumber)),
    );
    const oldest = waiting[0]?.enqueuedTimeUtc;
    const oldestAgeMs = oldest && Math.max(0, this.#options.clock.now() - oldest.getTime());
    // The service has shown all: this is more exact than a count with deferred messages.
    if (peeked.length < most) {
      if (waiting.length === 0) return none;
      return { waiting: waiting.length, oldestAgeMs, ...(isSessions && { maxUsefulWorkers: sessionsOf(peeked) }) };
    }
    if (counted !== undefined) return { waiting: Math.max(1, counted - own.inFlight.size), oldestAgeMs };
    return { waiting: waiting.length, isAtLeast: true, oldestAgeMs };
  }

  /** Returns undefined if the counts cannot be known. */
  async #count(signal: AbortSignal): Promise<number | undefined> {
    const { clock } = this.#options;
    const { entity } = this.#options.options;
    if (clock.monotonicMs() < this.#countAgainAtMs) return undefined;
    try {
      this.#administration ??= import('@azure/service-bus').then((sdk) =>
        administration(sdk, this.#options.connection),
      );
      const client = await this.#administration;
      const { subscription, name, isDeadLetterQueue } = entity;
      const counting: Promise<Counts> =
        subscription === undefined
          ? client.getQueueRuntimeProperties(name, { abortSignal: signal })
          : client.getSubscriptionRuntimeProperties(name, subscription, { abortSignal: signal });
      const counts = await rejectOnAbort(() => counting, signal);
      return isDeadLetterQueue ? counts.deadLetterMessageCount : counts.activeMessageCount;
    } catch {
      signal.throwIfAborted();
      this.#countAgainAtMs = clock.monotonicMs() + countAgainAfterMs;
      return undefined;
    }
  }
}

/** Messages of a session run one after the other, so more workers than sessions find nothing to do. */
function sessionsOf(messages: readonly ServiceBusReceivedMessage[]): number {
  const active = messages.filter(({ state }) => state === 'active');
  return new Set(active.map(({ sessionId }) => sessionId)).size;
}

function targetPerWorker({
  isSessions,
  isBatch,
  batch,
  maxConcurrentCalls,
  maxConcurrentSessions,
}: BusBacklogOptions['options']): number {
  if (isBatch) return batch.max;
  return isSessions ? maxConcurrentSessions : maxConcurrentCalls;
}

function administration(sdk: typeof Sdk, { connectionString, isEmulator }: ServiceBusConnection) {
  const client = new sdk.ServiceBusAdministrationClient(connectionString.reveal(), { retryOptions: { maxRetries: 0 } });
  if (isEmulator)
    client.pipeline.addPolicy({
      name: 'plainHttpOfEmulator',
      sendRequest(request, next) {
        request.url = request.url.replace(/^https:/, 'http:');
        request.allowInsecureConnection = true;
        return next(request);
      },
    });
  return client;
}
