import { setMaxListeners } from 'node:events';
import { defineStates } from '@drover/contracts';
import type { Clock, Observe, Randomness } from '@drover/service-kit';
import { serviceBusUnavailable } from '../errors.js';
import type { LockedMessages } from '../locked-messages.js';
import { untilAborted, withDeadline } from '../requests.js';
import type { Backlog, Deliver, TriggerListener } from '../trigger-source.js';
import { BusBacklog } from './bus-backlog.js';
import { BusClients } from './bus-clients.js';
import { BusOutage } from './bus-outage.js';
import { BusRun, type BusRunIo } from './bus-run.js';
import { DeliveryLane } from './delivery-lane.js';
import { LockRenewals } from './lock-renewals.js';
import { BusMessageLock } from './bus-message-lock.js';
import { LossSignals } from './loss-signals.js';
import type { ServiceBusObservation } from './observations.js';
import { PlainReceiving } from './plain-receiving.js';
import type { Receiving } from './receiving.js';
import { withoutSecretsOf, type ServiceBusConnection } from './service-bus-connection.js';
import type { ServiceBusTriggerOptions } from './service-bus-options.js';
import { SessionReceiving } from './session-receiving.js';

/**
 * - created: not started
 * - listening: receives messages and delivers them
 * - paused: receives nothing; messages that arrive are held with their lock
 * - draining: receives nothing; running messages finish, held ones are released
 * - stopped: all messages are released
 */
export const serviceBusListenerStates = defineStates('service bus listener', {
  created: ['listening', 'stopped'],
  listening: ['paused', 'draining', 'stopped'],
  paused: ['listening', 'draining', 'stopped'],
  draining: ['stopped'],
  stopped: [],
});

interface ServiceBusListenerOptions {
  readonly application: string;
  readonly functionName: string;
  readonly connection: ServiceBusConnection;
  readonly options: ServiceBusTriggerOptions;
  readonly deliver: Deliver;
  readonly lockedMessages: LockedMessages;
  readonly clock: Clock;
  readonly randomness: Randomness;
  readonly observe: Observe<ServiceBusObservation>;
}

/** Time limit for the release of messages in `stop`. */
const stopWithinMs = 5_000;
/** Time limit for the return of credits. */
const retireWithinMs = 1_000;
/** Messages whose settlement is in flight, or that wait for their redelivery, while others take their place. */
const mostUnsettledBehind = 1_000;

/** Listens to one queue or subscription for one function. */
export class ServiceBusListener implements TriggerListener {
  readonly name: string;
  readonly #options: ServiceBusListenerOptions;
  readonly #io: BusRunIo;
  readonly #clients: BusClients;
  readonly #receiving: Receiving;
  readonly #backlog: BusBacklog;
  readonly #renewals: LockRenewals;
  readonly #state;
  readonly #lanes = new Set<DeliveryLane>();
  /** Received and not finished. */
  readonly #locks = new Set<BusMessageLock>();
  readonly #runs = new Set<BusRun>();
  /** Releases in flight. */
  readonly #releasing = new Set<Promise<void>>();
  /** Runs whose settlement is in flight. */
  #settling = 0;
  readonly #closing = new AbortController();
  readonly #stopping = new AbortController();
  readonly #cut = new AbortController();
  readonly broken: Promise<unknown>;
  #break: (error: unknown) => void = () => undefined;
  #received: Promise<void> = Promise.resolve();
  #stopped: Promise<void> | undefined;
  #onFinished: () => void = () => undefined;
  /** Messages received, without those that were returned. */
  #taken = 0;
  #behind = 0;
  #workers = 1;

  constructor(listenerOptions: ServiceBusListenerOptions) {
    this.#options = listenerOptions;
    const { functionName, connection, options, observe, clock } = listenerOptions;
    const entityName = options.entity.path;
    this.name = `service bus trigger ${functionName}`;
    this.broken = new Promise((resolve) => (this.#break = resolve));
    for (const { signal } of [this.#cut, this.#stopping, this.#closing]) setMaxListeners(0, signal); // one for each message
    this.#state = serviceBusListenerStates.start('created', ({ to }) =>
      observe({ kind: 'service-bus.listener', functionName, entity: entityName, state: to }),
    );
    this.#renewals = new LockRenewals(listenerOptions);
    this.#clients = new BusClients({ ...listenerOptions, entityPath: entityName, tryTimeoutMs: options.tryTimeoutMs });
    this.#backlog = new BusBacklog({ connection, options, clients: this.#clients, clock });
    this.#io = {
      ...listenerOptions,
      entityName,
      maxRenewalMs: options.maxRenewalMs,
      renewals: this.#renewals,
      lossSignals: new LossSignals(),
      cut: this.#cut.signal,
      stopping: this.#stopping.signal,
      onFinished: (lock) => {
        this.#locks.delete(lock);
        this.#checkFinished();
      },
    };
    this.#receiving = this.#createReceiving(new BusOutage({ ...listenerOptions, entity: entityName }));
  }

  /** Resolves without waiting for the service: the listener retries while the service is unavailable or the entity missing. */
  async start(signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    this.#state.move('listening');
    this.#received = this.#receiving.run(this.#closing.signal).catch((error: unknown) => this.#break(error));
  }

  pause(): void {
    if (!this.#state.is('listening')) return;
    this.#state.move('paused');
    this.#receiving.pause();
  }

  resume(): void {
    if (!this.#state.is('paused')) return;
    this.#state.move('listening');
    for (const lane of this.#lanes) lane.proceed();
    this.#receiving.resume();
  }

  scale(workers: number): void {
    this.#workers = Math.max(1, workers);
    this.#receiving.scale?.(this.#workers);
    for (const lane of this.#lanes) lane.proceed();
  }

  async drain(deadline: AbortSignal): Promise<void> {
    if (this.#state.is('listening', 'paused')) {
      this.#state.move('draining');
      this.#closing.abort();
      await this.#retire();
      this.#releaseWaiting();
    }
    await untilAborted(this.#allFinished(), deadline);
  }

  stop(): Promise<void> {
    this.#stopped ??= this.#stop();
    return this.#stopped;
  }

  /** Works without a start. */
  async measure(signal: AbortSignal): Promise<Backlog> {
    const { clock, options, connection } = this.#options;
    const own = {
      taken: this.#taken,
      inFlight: new Set([...this.#locks].map(({ message }) => String(message.sequenceNumber))),
    };
    try {
      return await withDeadline(clock, options.tryTimeoutMs, signal, (limited) => this.#backlog.measure(own, limited));
    } catch (error) {
      const reason = withoutSecretsOf(connection, error);
      throw serviceBusUnavailable({ entity: options.entity.path, operation: 'measure', reason }, error);
    }
  }

  #createReceiving(outage: BusOutage): Receiving {
    const { options } = this.#options;
    const shared = { ...this.#options, clients: this.#clients, renewals: this.#renewals, outage };
    if (options.isSessions)
      return new SessionReceiving({
        ...shared,
        createLane: (onIdle) => {
          const concurrency = options.isBatch ? 1 : options.maxConcurrentCallsPerSession;
          return this.#createLane(() => concurrency, onIdle);
        },
        removeLane: (lane) => void this.#lanes.delete(lane),
        onMessage: (message, link, lane) => {
          const lock = new BusMessageLock(message, link, this.#io);
          this.#accept([lock], lane);
          return lock;
        },
      });
    const lane = this.#createLane(() => this.#workers * (options.isBatch ? 1 : options.maxConcurrentCalls));
    return new PlainReceiving({
      ...shared,
      onMessages: (messages, link) =>
        this.#accept(
          messages.map((message) => new BusMessageLock(message, link, this.#io)),
          lane,
        ),
    });
  }

  #createLane(concurrency: () => number, onIdle?: () => void): DeliveryLane {
    const { options, clock } = this.#options;
    const lane = new DeliveryLane({
      concurrency,
      batch: options.isBatch ? options.batch : undefined,
      clock,
      isOpen: () => this.#state.is('listening'),
      run: (locks) => this.#run(locks),
      ...(onIdle && { onIdle }),
    });
    this.#lanes.add(lane);
    return lane;
  }

  #accept(locks: readonly BusMessageLock[], lane: DeliveryLane): void {
    const { functionName, observe, options } = this.#options;
    observe({ kind: 'service-bus.received', functionName, entity: options.entity.path, messages: locks.length });
    this.#taken += locks.length;
    for (const lock of locks) this.#locks.add(lock);
    if (this.#state.is('listening', 'paused')) lane.push(locks);
    else this.#release(locks);
  }

  /** Resolves when the function has ended: others may run then, while its messages are settled. */
  async #run(locks: readonly BusMessageLock[]): Promise<void> {
    const run = new BusRun(locks, this.#io);
    this.#runs.add(run);
    const action = await run.deliver();
    if (action.kind === 'abandon') this.#taken -= locks.length;
    const isBehind = this.#behind < mostUnsettledBehind && !this.#options.options.isSessions;
    if (isBehind) this.#behind += locks.length;
    this.#settling += 1;
    const settled = run.settle(action).then(() => {
      this.#runs.delete(run);
      if (isBehind) this.#behind -= locks.length;
      this.#settling -= 1;
      this.#checkFinished();
    });
    // In a session the next message must not come before this one is settled: an abandoned one comes first again.
    if (this.#options.options.isSessions) return settled;
    if (isBehind) for (const lock of locks) lock.returnCredit();
  }

  #releaseWaiting(): void {
    for (const lane of this.#lanes) this.#release(lane.takeWaiting());
  }

  #release(locks: readonly BusMessageLock[]): void {
    this.#taken -= locks.length;
    if (locks.length > 0) this.#track(new BusRun(locks, this.#io).release({ started: false }));
  }

  #track(work: Promise<void>): void {
    this.#releasing.add(work);
    void work.then(() => this.#releasing.delete(work));
  }

  async #stop(): Promise<void> {
    this.#state.move('stopped');
    this.#closing.abort();
    const { clock } = this.#options;
    const cut = (): void => this.#cut.abort(new Error('the listener was stopped'));
    const cancel = clock.after(stopWithinMs, cut);
    // Credits first: a message that is released while there are some would come back here.
    await this.#retire();
    this.#releaseWaiting();
    for (const run of this.#runs) this.#track(run.release({ started: true }));
    this.#stopping.abort();
    await untilAborted(this.#allFinished(), this.#cut.signal);
    cancel();
    await this.#receiving.close();
    this.#renewals.close();
    await this.#clients.close();
  }

  async #retire(): Promise<void> {
    const { clock } = this.#options;
    await withDeadline(clock, retireWithinMs, this.#cut.signal, (limited) =>
      untilAborted(this.#receiving.retire(), limited),
    );
  }

  async #allFinished(): Promise<void> {
    await this.#received;
    while (this.#locks.size > 0 || this.#settling > 0 || this.#releasing.size > 0) {
      await Promise.all(this.#releasing);
      if (this.#locks.size > 0 || this.#settling > 0)
        await new Promise<void>((resolve) => (this.#onFinished = resolve));
    }
  }

  #checkFinished(): void {
    if (this.#locks.size === 0 && this.#settling === 0) this.#onFinished();
  }
}
