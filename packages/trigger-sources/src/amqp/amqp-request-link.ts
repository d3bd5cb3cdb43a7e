import type { Connection, EventContext, Message, Receiver, Sender } from 'rhea';
import { AmqpConditionError, toConditionError } from './amqp-condition-error.js';

interface Pending {
  readonly resolve: (response: Message) => void;
  readonly reject: (error: unknown) => void;
}

/** Requests and responses on one address of a connection, such as `$cbs`. */
export class AmqpRequestLink {
  readonly #address: string;
  readonly #replyTo: string;
  readonly #sender: Sender;
  readonly #receiver: Receiver;
  readonly #pending = new Map<string, Pending>();
  readonly #opened: Promise<unknown>;
  #failure: unknown;
  #requests = 0;

  constructor(connection: Connection, address: string, replyTo: string) {
    this.#address = address;
    this.#replyTo = replyTo;
    const session = connection.create_session();
    session.on('session_error', () => this.fail(session.error ?? new Error(`the session of ${address} failed`)));
    session.on('session_close', () => this.fail(new Error(`the session of ${address} was closed`)));
    session.begin();
    this.#receiver = session.open_receiver({ name: replyTo, source: { address }, target: { address: replyTo } });
    this.#sender = session.open_sender({ target: { address } });
    this.#opened = new Promise((resolve) => this.#sender.once('sendable', resolve));
    for (const [link, side] of [[this.#receiver, 'receiver'] as const, [this.#sender, 'sender'] as const]) {
      link.on(`${side}_error`, () => this.fail(toConditionError(link.error)));
      link.on(`${side}_close`, () => this.fail(new Error(`the service closed ${address}`)));
    }
    this.#receiver.on('message', ({ message }: EventContext) => this.#answer(message));
  }

  /** Resolves with the response. Rejects with an AmqpConditionError if its status is an error. */
  async request(message: Message, signal: AbortSignal): Promise<Message> {
    signal.throwIfAborted();
    this.#requests += 1;
    const id = `${this.#replyTo}-${this.#requests}`;
    const answered = new Promise<Message>((resolve, reject) => this.#pending.set(id, { resolve, reject }));
    const abort = (): void => this.#pending.get(id)?.reject(signal.reason);
    signal.addEventListener('abort', abort, { once: true });
    try {
      if (this.#failure !== undefined) throw this.#failure;
      await Promise.race([this.#opened, answered]);
      this.#sender.send({ ...message, message_id: id, reply_to: this.#replyTo, to: this.#address });
      return checked(await answered);
    } finally {
      answered.catch(() => undefined);
      this.#pending.delete(id);
      signal.removeEventListener('abort', abort);
    }
  }

  /** Rejects all requests, now and later. */
  fail(error: unknown): void {
    this.#failure ??= error;
    for (const { reject } of this.#pending.values()) reject(this.#failure);
  }

  #answer(message: Message | undefined): void {
    if (message) this.#pending.get(String(message.correlation_id))?.resolve(message);
  }
}

function checked(response: Message): Message {
  const properties = response.application_properties ?? {};
  const status: unknown = properties['status-code'] ?? properties['statusCode'];
  if (typeof status === 'number' && status >= 200 && status < 300) return response;
  const condition: unknown = properties['error-condition'] ?? properties['errorCondition'] ?? String(status);
  const description: unknown = properties['status-description'] ?? properties['statusDescription'] ?? '';
  throw new AmqpConditionError(String(condition), String(description));
}
