import type { MessageHandlers, ServiceBusReceivedMessage, ServiceBusReceiver } from '@azure/service-bus';
import type { Clock } from '@drover/service-kit';
import { receiveOptions, settleAtBus, type Bus, type BusClients, type BusOutcome } from './bus-clients.js';
import type { MessageLink, BusMessageLock } from './bus-message-lock.js';
import { OutcomeTurns } from './outcome-turns.js';
import { PendingSettlements } from './pending-settlements.js';

interface PlainLinkOptions {
  readonly bus: Bus;
  readonly clients: BusClients;
  readonly entityPath: string;
  /** Messages that may be unsettled at a time, held ones not counted. */
  readonly credits: number;
  readonly openWithinMs: number;
  readonly clock: Clock;
  readonly onOpen: () => void;
  readonly onMessage: (message: ServiceBusReceivedMessage, link: PlainLink) => BusMessageLock;
}

/** Hooks that the SDK calls before and after it opens a link; they are not in its types. */
interface LinkHooks {
  preInitialize(): Promise<void>;
  postInitialize(): Promise<void>;
}

/**
 * A receiver of the SDK stops after 2,047 deliveries behind one that is not settled. It is replaced after this many, early
 * enough for all credits of the largest configuration to be used meanwhile.
 */
const mostBehindUnsettled = 1_024;
const checkEvery = 64;

/**
 * A receiver link without sessions. The end of the connection ends it: the SDK would reconnect by itself, with its own delays,
 * and would count the credits of running messages twice.
 * - opening: the SDK connects
 * - open: messages come
 * - ended: no more messages come, because it failed or was retired; its messages can be settled still
 * - closed: its last message is settled
 */
export class PlainLink implements MessageLink {
  readonly turns = new OutcomeTurns();
  readonly #options: PlainLinkOptions;
  readonly #receiver: ServiceBusReceiver;
  readonly #pending = new PendingSettlements();
  readonly #unsettled = new Map<BusMessageLock, number>();
  readonly #aborting = new AbortController();
  #subscription: { close(): Promise<void> } | undefined;
  #openMessages = 0;
  #delivered = 0;
  #isOpen = false;
  #isEnded = false;
  #isClosed = false;
  #end: (failure: { readonly error: unknown } | undefined) => void = () => undefined;
  /** Resolves with the failure, or with undefined when it is retired. */
  readonly ended = new Promise<{ readonly error: unknown } | undefined>((resolve) => (this.#end = resolve));

  constructor(options: PlainLinkOptions) {
    this.#options = options;
    this.#receiver = options.bus.client.createReceiver(options.entityPath, { ...receiveOptions });
  }

  /** Whether it worked: messages came. */
  get hasDelivered(): boolean {
    return this.#delivered > 0;
  }

  get unsettled(): number {
    return this.#openMessages;
  }

  open(): void {
    const { credits, clock, openWithinMs } = this.#options;
    const cancelTimer = clock.after(openWithinMs, () => {
      if (!this.#isOpen) this.#fail(new Error(`the service did not answer within ${openWithinMs} ms`));
    });
    void this.ended.then(cancelTimer);
    const handlers: MessageHandlers & LinkHooks = {
      processMessage: (message) => this.#receive(message),
      processError: async ({ error, errorSource }) => {
        if (errorSource !== 'receive') return;
        // The service moves links, and ends those that were idle for long: nothing is wrong.
        if (this.#isOpen && /DetachForced|detach-forced/.test(error.message)) void this.retire();
        else this.#fail(error);
      },
      // Before it opens again. Before it is open for the first time, an attempt that failed is reported as an error, too.
      preInitialize: async () => {
        if (this.#isOpen) this.#fail(new Error('the connection was lost'));
      },
      postInitialize: async () => {
        this.#isOpen = true;
        cancelTimer();
        if (!this.#isEnded) this.#options.onOpen();
      },
    };
    this.#subscription = this.#receiver.subscribe(handlers, {
      autoCompleteMessages: false,
      maxConcurrentCalls: credits,
      abortSignal: this.#aborting.signal,
    });
    if (this.#isEnded) void this.#stopReceiving();
  }

  /** Returns unused credits. Resolves when no more messages come, or when the service does not answer. */
  async retire(): Promise<void> {
    if (this.#isEnded) return;
    this.#isEnded = true;
    this.#end(undefined);
    if (!this.#isOpen) this.#aborting.abort();
    await this.#stopReceiving();
  }

  readonly renewMessage = async (message: ServiceBusReceivedMessage): Promise<Date> => {
    const { entity } = await this.#options.clients.current();
    return entity.renewMessageLock(message);
  };

  /** Over the link while it is open; else over the connection in use, since locks outlive connections. */
  settle(message: ServiceBusReceivedMessage, outcome: BusOutcome): Promise<void> {
    if (this.#pending.isBroken) return this.#settleElsewhere(message, outcome);
    return this.#pending.track(settleAtBus(this.#receiver, message, outcome));
  }

  finished(lock: BusMessageLock, isSettled: boolean): void {
    this.#openMessages -= 1;
    // A message that is lost or left stays in the window of the SDK for ever.
    if (isSettled) this.#unsettled.delete(lock);
    this.#closeIfDone();
  }

  async #settleElsewhere(message: ServiceBusReceivedMessage, outcome: BusOutcome): Promise<void> {
    const { entity } = await this.#options.clients.current();
    return settleAtBus(entity, message, outcome);
  }

  #receive(message: ServiceBusReceivedMessage): Promise<void> {
    this.#delivered += 1;
    this.#openMessages += 1;
    const lock = this.#options.onMessage(message, this);
    if (lock.isLocked) this.#unsettled.set(lock, this.#delivered);
    if (this.#delivered % checkEvery === 0 && this.#behindUnsettled() >= mostBehindUnsettled) void this.retire();
    return lock.credit;
  }

  #behindUnsettled(): number {
    const [oldest] = this.#unsettled.values();
    return oldest === undefined ? 0 : this.#delivered - oldest;
  }

  #fail(error: unknown): void {
    this.#pending.break(error);
    if (this.#isEnded) return;
    this.#isEnded = true;
    this.#end({ error });
    this.#aborting.abort();
    void this.#stopReceiving();
  }

  async #stopReceiving(): Promise<void> {
    await this.#subscription?.close().catch(() => undefined);
    this.#closeIfDone();
  }

  #closeIfDone(): void {
    if (!this.#isEnded || this.#isClosed || this.#openMessages > 0) return;
    this.#isClosed = true;
    this.#receiver.close().catch(() => undefined);
  }
}
