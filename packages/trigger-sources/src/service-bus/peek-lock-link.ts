import type { Clock } from '@drover/service-kit';
import type { Message, Receiver, Session } from 'rhea';
import type * as Rhea from 'rhea';
import { toConditionError } from '../amqp/amqp-condition-error.js';
import type { NamespaceConnection } from '../amqp/namespace-connection.js';
import type { ReceivedTransfer } from '../amqp/transfer-frames.js';
import { lockTokenOf, ofRheaMessage, type BusMessage } from './bus-message.js';
import { writeDispositions, type Disposition } from './dispositions.js';
import { readBusMessage } from './read-bus-message.js';

interface PeekLockLinkOptions {
  readonly rhea: typeof Rhea.default;
  readonly connection: NamespaceConnection;
  readonly address: string;
  readonly name: string;
  readonly clock: Clock;
  /** A settlement that is not confirmed within this time counts as the loss of the link. */
  readonly confirmWithinMs: number;
  /** Called with all messages of one read from the socket. */
  readonly onMessages: (messages: readonly BusMessage[]) => void;
}

/** Called once: without an error when the service has confirmed a settlement. */
export type SettlementDone = (error?: unknown) => void;

/** A transfer that was left to rhea. */
interface TransferOfRhea {
  readonly delivery_id?: number | null;
  readonly delivery_tag?: Buffer | null;
  readonly more?: boolean | null;
  readonly aborted?: boolean | null;
}

interface RemoteDisposition {
  readonly role: boolean;
  readonly first: number;
  readonly last?: number | null;
  readonly settled?: boolean | null;
  readonly state?: unknown;
}

/** Internals of a session of rhea; its types leave them out. */
interface SessionInternals {
  readonly connection: { _register(): void };
  readonly local: { readonly channel: number };
  readonly incoming: { next_transfer_id: number; readonly max_transfer_id: number; readonly window: number };
  on_transfer(frame: { readonly performative: TransferOfRhea; readonly payload?: Buffer }): void;
  on_disposition(frame: { readonly performative: RemoteDisposition }): void;
}

type ReceiverOfRhea = Receiver & { credit: number; delivery_count: number };
type SessionOfRhea = Omit<Session, 'connection'> & SessionInternals;

/** Credits are returned in steps of this part of all credits: each step is a frame. */
const creditSteps = 4;

/**
 * A receive link in peek-lock mode on a session of its own. rhea opens and closes it; transfers, confirmations and settlements
 * are handled here, because rhea holds at most 2,048 deliveries behind an unsettled one, merges the outcomes of neighbours,
 * and builds a dozen objects for each delivery.
 */
export class PeekLockLink {
  readonly #options: PeekLockLinkOptions;
  readonly #session: SessionOfRhea;
  readonly #receiver: ReceiverOfRhea;
  readonly ended: Promise<unknown>;
  readonly #opened: Promise<void>;
  #end: (reason: unknown) => void = () => undefined;
  #isEnded = false;
  readonly #halfWindow: number;
  #received: BusMessage[] = [];
  /** Of a message in several frames. */
  #parts: Buffer[] = [];
  #partial: ReceivedTransfer | undefined;
  #unsent: Disposition[] = [];
  readonly #unconfirmed = new Map<number, SettlementDone>();
  #confirmedSinceCheck = false;
  #cancelCheck: (() => void) | undefined;
  #credits = 0;
  #unusedCredits = 0;
  #isFlushScheduled = false;
  #drained: (() => void) | undefined;

  constructor(options: PeekLockLinkOptions) {
    this.#options = options;
    const { connection, address, name } = options;
    this.ended = new Promise((resolve) => {
      this.#end = (reason) => {
        if (this.#isEnded) return;
        this.#isEnded = true;
        this.#cancelCheck?.();
        this.#failAll(reason);
        resolve(reason);
      };
    });
    void connection.lost.then((reason) => this.#end(reason));
    const session = (this.#session = connection.amqp.create_session() as unknown as SessionOfRhea); // see SessionInternals
    this.#halfWindow = session.incoming.window / 2; // rhea's buffer, which stays empty
    session.on('session_error', () => this.#end(toConditionError(session.error)));
    session.on('session_close', () => this.#end(new Error('the service closed the session')));
    connection.transfers.take(session as unknown as Session, {
      onTransfer: (frame) => this.#onTransfer(frame),
      onApplied: ({ first, last }) => this.#onConfirmed(first, last, undefined),
    });
    session.on_transfer = ({ performative, payload }) => this.#onTransfer(toFrame(performative, payload));
    session.on_disposition = ({ performative }) => this.#onDisposition(performative);
    session.begin();
    const receiver = (this.#receiver = session.open_receiver({
      name,
      source: { address },
      target: { address: name },
      credit_window: 0,
      autoaccept: false,
      autosettle: false,
      rcv_settle_mode: 1,
      snd_settle_mode: 0,
      properties: { 'com.microsoft:receiver-name': name },
    }) as ReceiverOfRhea); // its types leave both out
    receiver.on('receiver_error', () => this.#end(toConditionError(receiver.error)));
    receiver.on('receiver_close', () => this.#end(new Error('the service closed the receiver')));
    receiver.on('receiver_drained', () => this.#drained?.());
    this.#opened = new Promise((resolve) => {
      // Without a source, the service refuses the link, and its error follows.
      receiver.on('receiver_open', () => receiver.source && resolve());
    });
  }

  /** Resolves when the service has accepted the link. */
  async opened(signal: AbortSignal): Promise<void> {
    const aborted = new Promise((resolve) => {
      if (signal.aborted) resolve(signal.reason);
      signal.addEventListener('abort', () => resolve(signal.reason), { once: true });
    });
    const failure = await Promise.race([this.#opened, this.ended, aborted]);
    if (failure === undefined) return;
    this.close();
    throw failure;
  }

  /** Lets the service send `messages`, for the first time. */
  start(messages: number): void {
    this.#credits = messages;
    this.returnCredits(messages);
  }

  /** Lets the service send so many more at a time. */
  grow(messages: number): void {
    this.#credits += messages;
    this.returnCredits(messages);
  }

  /** Lets the service send as many more. Sent together with others, and soon enough that it always may send some. */
  returnCredits(messages: number): void {
    this.#unusedCredits += messages;
    this.#scheduleFlush();
  }

  /** Takes unused credits back. Resolves when no more messages come. */
  async drain(): Promise<void> {
    if (this.#isEnded) return;
    this.#credits = 0;
    const drained = new Promise<void>((resolve) => (this.#drained = resolve));
    this.#receiver.drain_credit();
    await Promise.race([drained, this.ended]);
  }

  /** Sends an outcome, together with those of the same turn of the event loop. */
  settle(deliveryId: number, state: Buffer, done: SettlementDone): void {
    if (this.#isEnded) return done(new Error('the link has ended'));
    this.#unconfirmed.set(deliveryId, done);
    this.#unsent.push({ deliveryId, state });
    this.#scheduleFlush();
    this.#checkConfirmations();
  }

  /** Settlements that are not confirmed fail. */
  close(reason: unknown = new Error('the link was closed')): void {
    this.#end(reason);
    this.#session.close();
  }

  #onTransfer(frame: ReceivedTransfer): void {
    const { incoming } = this.#session;
    incoming.next_transfer_id += 1;
    // rhea then writes a flow with a new window.
    if (incoming.max_transfer_id - incoming.next_transfer_id < this.#halfWindow) this.#session.connection._register();
    if (frame.more || frame.aborted || this.#partial) this.#onPart(frame);
    else this.#onMessage(frame.payload, frame);
  }

  /** A part of a message in several frames. The first one names the delivery. */
  #onPart(frame: ReceivedTransfer): void {
    const first = (this.#partial ??= frame);
    this.#parts.push(frame.payload);
    if (frame.more && !frame.aborted) return;
    const whole = Buffer.concat(this.#parts);
    this.#partial = undefined;
    this.#parts = [];
    if (!frame.aborted) this.#onMessage(whole, first);
  }

  #onMessage(bytes: Buffer, { deliveryId = 0, tag }: ReceivedTransfer): void {
    const receiver = this.#receiver;
    receiver.credit = Math.max(0, receiver.credit - 1);
    receiver.delivery_count = (receiver.delivery_count + 1) >>> 0;
    const place = { deliveryId, lockToken: tag && lockTokenOf(tag) };
    const message =
      readBusMessage(bytes, place) ??
      ofRheaMessage(this.#options.rhea.message.decode(bytes) as unknown as Message, place);
    if (this.#received.length === 0) process.nextTick(() => this.#handOver());
    this.#received.push(message);
  }

  #handOver(): void {
    const messages = this.#received;
    this.#received = [];
    this.#options.onMessages(messages);
  }

  #onDisposition({ role, first, last, settled, state }: RemoteDisposition): void {
    if (!role && settled) this.#onConfirmed(first, last ?? first, this.#errorOf(state));
  }

  #onConfirmed(first: number, last: number, error: unknown): void {
    this.#confirmedSinceCheck = true;
    const count = ((last - first) >>> 0) + 1;
    // A wide range over few settlements: walk the settlements instead of the range.
    if (count > this.#unconfirmed.size) {
      for (const id of this.#unconfirmed.keys()) if ((id - first) >>> 0 < count) this.#confirm(id, error);
      return;
    }
    for (let index = 0; index < count; index += 1) this.#confirm((first + index) >>> 0, error);
  }

  #confirm(deliveryId: number, error: unknown): void {
    const done = this.#unconfirmed.get(deliveryId);
    if (!done) return;
    this.#unconfirmed.delete(deliveryId);
    done(error);
  }

  /** The service rejects with an error what it has not applied. */
  #errorOf(state: unknown): unknown {
    const { descriptor } = Object(state) as { readonly descriptor?: { readonly value?: unknown } }; // a described type of rhea
    if (descriptor?.value !== 0x25 && descriptor?.value !== 'amqp:rejected:list') return undefined;
    const { unwrap_outcome: unwrap } = this.#options.rhea.message as unknown as {
      readonly unwrap_outcome: (outcome: unknown) => { readonly error?: { readonly condition?: unknown } | null };
    }; // its types leave it out
    const { error } = unwrap(state);
    return error?.condition ? toConditionError(error) : undefined;
  }

  #scheduleFlush(): void {
    if (this.#isFlushScheduled) return;
    this.#isFlushScheduled = true;
    setImmediate(() => this.#flush());
  }

  #flush(): void {
    this.#isFlushScheduled = false;
    if (this.#isEnded) return;
    if (this.#unsent.length > 0) {
      const unsent = this.#unsent;
      this.#unsent = [];
      this.#options.connection.write(writeDispositions(this.#session.local.channel, unsent));
    }
    const step = Math.max(1, Math.floor(this.#credits / creditSteps));
    if (this.#credits === 0 || this.#unusedCredits === 0) return;
    if (this.#unusedCredits < step && this.#receiver.credit >= step) return;
    this.#receiver.add_credit(this.#unusedCredits);
    this.#unusedCredits = 0;
  }

  /** One timer for all: if the service has confirmed nothing in the whole time, the link is lost. */
  #checkConfirmations(): void {
    if (this.#cancelCheck) return;
    this.#confirmedSinceCheck = false;
    const { clock, confirmWithinMs } = this.#options;
    this.#cancelCheck = clock.after(confirmWithinMs, () => {
      this.#cancelCheck = undefined;
      if (this.#isEnded || this.#unconfirmed.size === 0) return;
      if (this.#confirmedSinceCheck) this.#checkConfirmations();
      else this.close(new Error(`the service did not confirm a settlement within ${confirmWithinMs} ms`));
    });
  }

  #failAll(reason: unknown): void {
    const waiting = [...this.#unconfirmed.values()];
    this.#unconfirmed.clear();
    this.#unsent = [];
    for (const done of waiting) done(reason);
  }
}

function toFrame(
  { delivery_id, delivery_tag, more, aborted }: TransferOfRhea,
  payload: Buffer | undefined,
): ReceivedTransfer {
  return {
    deliveryId: delivery_id ?? undefined,
    tag: delivery_tag ?? undefined,
    more: more === true,
    aborted: aborted === true,
    payload: payload ?? Buffer.alloc(0),
  };
}
