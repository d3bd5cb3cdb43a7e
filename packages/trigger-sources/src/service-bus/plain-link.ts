import type * as Rhea from 'rhea';
import type { Clock } from '@drover/service-kit';
import { AmqpConditionError } from '../amqp/amqp-condition-error.js';
import type { NamespaceClient } from '../amqp/namespace-client.js';
import type { NamespaceConnection } from '../amqp/namespace-connection.js';
import { rejectOnAbort, withDeadline } from '../requests.js';
import { renewAtBus, settleAtBus, type BusClients, type BusOutcome } from './bus-clients.js';
import type { BusMessage } from './bus-message.js';
import type { MessageLink } from './bus-message-lock.js';
import { encodeBusOutcome } from './dispositions.js';
import { PeekLockLink, type SettlementDone } from './peek-lock-link.js';

interface PlainLinkOptions {
  readonly namespace: NamespaceClient;
  readonly clients: BusClients;
  readonly entityPath: string;
  readonly name: string;
  /** Messages that may be unsettled at a time, held ones not counted; `growTo` raises it. */
  readonly credits: number;
  readonly tryTimeoutMs: number;
  readonly clock: Clock;
  readonly onOpen: () => void;
  readonly onMessages: (messages: readonly BusMessage[], link: PlainLink) => void;
}

/** The service moves links, and ends those that were idle for long: nothing is wrong. */
const detachForced = 'amqp:link:detach-forced';

/**
 * A receiver without sessions, from its opening until its last message is settled. The end of its link or connection ends it.
 * - opening: it connects
 * - open: messages come
 * - ended: no more messages come, because it failed or was retired; its messages can be settled still
 * - closed: its last message is settled
 */
export class PlainLink implements MessageLink {
  readonly #options: PlainLinkOptions;
  readonly #aborting = new AbortController();
  #connection: NamespaceConnection | undefined;
  #link: PeekLockLink | undefined;
  #rhea: typeof Rhea.default | undefined;
  #credits: number;
  #openMessages = 0;
  #delivered = 0;
  #isOpen = false;
  #isEnded = false;
  #isBroken = false;
  #end: (failure: { readonly error: unknown } | undefined) => void = () => undefined;
  /** Resolves with the failure, or with undefined when it is retired. */
  readonly ended = new Promise<{ readonly error: unknown } | undefined>((resolve) => (this.#end = resolve));

  constructor(options: PlainLinkOptions) {
    this.#options = options;
    this.#credits = options.credits;
  }

  /** Whether it worked: messages came. */
  get hasDelivered(): boolean {
    return this.#delivered > 0;
  }

  get unsettled(): number {
    return this.#openMessages;
  }

  /** Never rejects: `ended` has the failure. */
  async open(): Promise<void> {
    const { clock, tryTimeoutMs, onOpen } = this.#options;
    try {
      const link = await withDeadline(clock, tryTimeoutMs, this.#aborting.signal, (limited) => this.#attach(limited));
      if (this.#isEnded) return link.close();
      this.#isOpen = true;
      link.start(this.#credits);
      onOpen();
    } catch (error) {
      this.#fail(error);
    }
  }

  /** Lets the service send more at a time; fewer only over the next link. */
  growTo(credits: number): void {
    const more = credits - this.#credits;
    if (more <= 0 || this.#isEnded) return;
    this.#credits = credits;
    if (this.#isOpen) this.#link?.grow(more);
  }

  /** Returns unused credits. Resolves when no more messages come, or when the link ends. */
  async retire(): Promise<void> {
    if (this.#isEnded) return;
    this.#isEnded = true;
    this.#end(undefined);
    if (!this.#isOpen) this.#aborting.abort(new Error('the receiver was retired'));
    await this.#link?.drain();
    this.#closeIfDone();
  }

  /** Ends it at once: messages are delivered again when their locks expire. */
  close(): void {
    this.#aborting.abort(new Error('the receiver was closed'));
    this.#link?.close();
  }

  readonly renewMessage = async (message: BusMessage): Promise<Date> => {
    const { entity } = await this.#options.clients.current();
    return renewAtBus(entity, message);
  };

  returnCredit(): void {
    this.#link?.returnCredits(1);
  }

  /** Over the link while it is open; else over the connection of the SDK, since locks outlive links. */
  settle(message: BusMessage, outcome: BusOutcome, done: SettlementDone): void {
    const { deliveryId } = message;
    if (this.#isBroken || !this.#link || !this.#rhea || deliveryId === undefined)
      void this.#settleElsewhere(message, outcome, done);
    else this.#link.settle(deliveryId, encodeBusOutcome(this.#rhea, outcome), done);
  }

  finished(): void {
    this.#openMessages -= 1;
    this.#closeIfDone();
  }

  async #attach(signal: AbortSignal): Promise<PeekLockLink> {
    const { namespace, entityPath, name, clock, tryTimeoutMs } = this.#options;
    const connection = (this.#connection = await rejectOnAbort(() => namespace.connected(), signal));
    await connection.authorize(entityPath, signal);
    const rhea = (this.#rhea = (await import('rhea')).default);
    const link = (this.#link = new PeekLockLink({
      rhea,
      connection,
      address: entityPath,
      name,
      clock,
      confirmWithinMs: tryTimeoutMs,
      onMessages: (messages) => this.#receive(messages),
    }));
    void link.ended.then((reason) => this.#lose(reason));
    await link.opened(signal);
    return link;
  }

  async #settleElsewhere(message: BusMessage, outcome: BusOutcome, done: SettlementDone): Promise<void> {
    try {
      const { entity } = await this.#options.clients.current();
      await settleAtBus(entity, message, outcome);
    } catch (error) {
      return done(error);
    }
    done();
  }

  #receive(messages: readonly BusMessage[]): void {
    this.#delivered += messages.length;
    this.#openMessages += messages.length;
    this.#options.onMessages(messages, this);
  }

  /** The link has ended. */
  #lose(reason: unknown): void {
    this.#isBroken = true;
    if (this.#isOpen && reason instanceof AmqpConditionError && reason.condition === detachForced) void this.retire();
    else this.#fail(reason);
  }

  #fail(error: unknown): void {
    this.#isBroken = true;
    const { namespace, clients } = this.#options;
    if (this.#isEnded) return;
    this.#isEnded = true;
    this.#end({ error });
    this.#aborting.abort(error);
    if (this.#connection) void namespace.discard(this.#connection);
    clients.discardCurrent();
  }

  #closeIfDone(): void {
    if (this.#isEnded && this.#openMessages === 0) this.#link?.close();
  }
}
