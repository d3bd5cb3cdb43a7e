/**
 * The port between the AMQP server and a service (Service Bus, Event Hubs).
 *
 * The server owns connections, sessions, credit, windows and settlement frames. A service owns addresses: it decides which
 * links it accepts, takes what producers send, hands messages to consumers while they have credit, and answers requests sent
 * to a `$management` node. Everything is called on the event loop, in the order of the frames; nothing here is re-entrant
 * across connections, so a service needs no locks.
 */
export interface AmqpService {
  readonly name: string;
  /**
   * Tells whether the service owns the address. Services are asked in the order of registration and the first claim wins.
   * The address arrives as the client wrote it (compare without case); the address of a request node keeps its `/$management`.
   * The connection's user agent tells a Service Bus client from an Event Hubs client where the address alone does not.
   * An address that no service claims is refused with `amqp:not-found`.
   */
  claims(address: string, connection: AmqpClient): boolean;
  /** A client attached a link to send to `link.address`. Call `link.accept` or `link.refuse`, now or later. */
  onProducer(link: ProducerLink): void;
  /** A client attached a link to receive from `link.address`. Call `link.accept` or `link.refuse`, now or later. */
  onConsumer(link: ConsumerLink): void;
  /** Answers a request to `$management` or `<entity>/$management`. A rejection is answered with status 500. */
  onRequest(request: ManagementRequest): ManagementReply | Promise<ManagementReply>;
}

/** An AMQP error: `condition` decides what an SDK makes of it, see `amqpConditions`. */
export interface AmqpError {
  readonly condition: string;
  readonly description: string;
  readonly info?: Readonly<Record<string, unknown>>;
}

/** The connection a link belongs to. One object per connection, so it can be compared and used as a key. */
export interface AmqpClient {
  /** Unique in this server, never reused. */
  readonly id: number;
  /** For example `azsdk-js-azureeventhubs/6.0.4 (…)`, if the client sent one. */
  readonly userAgent: string | undefined;
}

interface AmqpLink {
  /** The name the client gave the link; unique in its connection. */
  readonly name: string;
  readonly address: string;
  readonly connection: AmqpClient;
  /** Link properties of the attach, for example `com.microsoft:epoch`. Longs beyond 2^53 are 8-byte buffers. */
  readonly properties: Readonly<Record<string, unknown>>;
  readonly desiredCapabilities: readonly string[];
  /** False once either side has closed the link or the connection is gone. */
  readonly isOpen: boolean;
  /**
   * Refuses the attach: the client's open call fails with the error. Not allowed after `accept`.
   * The handlers are never called for a refused link.
   */
  refuse(error: AmqpError): void;
  /** Detaches the link, with an error when one is given. `onClose` is called once, before this returns. */
  close(error?: AmqpError): void;
}

/** What the server adds to its attach reply. Values may be plain or made with `amqp/values.ts` where the AMQP type matters. */
export interface AttachReply {
  readonly properties?: Readonly<Record<string, unknown>>;
  readonly offeredCapabilities?: readonly string[];
  /** Replaces the filters of the source in the reply; by default the client's own are repeated. Consumers only. */
  readonly filters?: Readonly<Record<string, unknown>>;
  /** Announced in the reply; batch builders of SDKs fill up to it. Producers only; default: `maxMessageBytes` of the server. */
  readonly maxMessageBytes?: number;
}

/** A link on which a client sends to us. */
export interface ProducerLink extends AmqpLink {
  accept(handlers: ProducerHandlers, reply?: AttachReply): void;
}

export interface ProducerHandlers {
  /**
   * One transfer, whole. Settle it now or later (after an fsync, say); the producer has credit for `producerCredit` unsettled
   * transfers, so work in flight is bounded. Not settling at all blocks the producer in the end.
   */
  onMessage(delivery: IncomingDelivery): void;
  /** The link is gone: closed by either side or by a lost connection. Called exactly once, only after `accept`. */
  onClose?(): void;
}

export interface IncomingDelivery {
  /** The encoded message, untouched: split it with `splitMessage`. It shares memory with the socket's chunk: copy what is kept. */
  readonly payload: Buffer;
  /** Message format of the transfer: 0, or `batchFormat` for an envelope whose data sections are messages. */
  readonly format: number;
  accept(): void;
  /** The SDK's send fails with the error. */
  reject(error: AmqpError): void;
}

/** A link on which a client receives from us. */
export interface ConsumerLink extends AmqpLink {
  /** Filters of the source by key, described values unwrapped: `com.microsoft:session-filter` → null or string, and so on. */
  readonly filters: ReadonlyMap<string, unknown>;
  /** The client wants messages sent settled: receive-and-delete. Deliveries then have no outcome. */
  readonly presettled: boolean;
  /** How many deliveries the link takes now. 0 before the attach reply is on its way, without credit, or behind a full window. */
  readonly capacity: number;
  /**
   * Completes the attach. It may be called long after `onConsumer` (holding an attach back, as for the next free session).
   * If the client gives up meanwhile, `isOpen` turns false and accept and refuse do nothing; register `link.onAbandoned` to hear of it.
   */
  accept(handlers: ConsumerHandlers, reply?: AttachReply): void;
  /** Called when the client detaches or vanishes before accept or refuse. */
  onAbandoned: (() => void) | undefined;
  /**
   * Sends one encoded message. The caller checks `capacity` first: a delivery beyond it throws, since it could sit unsent.
   * `tag` is at most 32 bytes and unique among the unsettled deliveries of the link; without it the server numbers them.
   */
  deliver(message: OutgoingMessage): void;
}

export interface OutgoingMessage {
  /** The encoded message in one buffer or in parts that are written after each other. */
  readonly payload: Buffer | readonly Buffer[];
  readonly tag?: Buffer;
  /** Sends this delivery settled, unless the client insists on unsettled ones: nothing comes back for it. */
  readonly settled?: boolean;
  /** The client's outcome. Call `settle` on the delivery, now or later. Never called when the link closes first. */
  onOutcome?(delivery: OutgoingDelivery, outcome: DeliveryOutcome): void;
}

export interface ConsumerHandlers {
  /**
   * `capacity` may have grown: deliver what there is. Called after the attach, after each flow, and when a full window or a
   * full socket has room again; not after a settlement, which gives no credit.
   * A drain calls this first, then gives the rest of the credit back to the client.
   */
  onCredit(): void;
  /** The link is gone: closed by either side or by a lost connection. Called exactly once, only after `accept`. */
  onClose?(): void;
}

export interface OutgoingDelivery {
  /**
   * Answers the client's outcome: settled, with this state. An `error` in a rejected state fails the client's settle call, so a
   * successful dead-lettering is answered with `{ kind: 'rejected' }`. Does nothing when the client had settled already.
   */
  settle(state: DeliveryOutcome): void;
}

export type DeliveryOutcome =
  | { readonly kind: 'accepted' }
  | { readonly kind: 'released' }
  | { readonly kind: 'rejected'; readonly error?: AmqpError }
  | {
      readonly kind: 'modified';
      readonly deliveryFailed?: boolean;
      readonly undeliverableHere?: boolean;
      /** Annotations to merge, by key. */
      readonly annotations?: Readonly<Record<string, unknown>>;
    };

export interface ManagementRequest {
  /** Address of the node, with its `$management`. */
  readonly address: string;
  /** Application property `operation`, for example `READ` or `com.microsoft:renew-lock`. */
  readonly operation: string;
  readonly properties: Readonly<Record<string, unknown>>;
  /** Decoded body: a map is an object, an array or list an array, a uuid or binary a Buffer, a timestamp a Date. */
  readonly body: unknown;
  readonly connection: AmqpClient;
}

export interface ManagementReply {
  /** As in HTTP: 200, 202, 204 (fine, but empty), 404, 410 … */
  readonly status: number;
  readonly description?: string;
  /** Error condition of a failure; it decides the error code of the SDK. */
  readonly condition?: string;
  /** Encoded as amqp-value. Use `amqp/values.ts` for longs, timestamps, uuids and arrays. */
  readonly body?: unknown;
}

/** Conditions the SDKs know, and what `@azure/service-bus` or `@azure/event-hubs` makes of each. */
export const amqpConditions = {
  /** `MessagingEntityNotFound`, if the text has the form of `entityNotFound()`. */
  notFound: 'amqp:not-found',
  notAllowed: 'amqp:not-allowed',
  notImplemented: 'amqp:not-implemented',
  unauthorized: 'amqp:unauthorized-access',
  internalError: 'amqp:internal-error',
  /** `QuotaExceeded`. */
  resourceLimitExceeded: 'amqp:resource-limit-exceeded',
  /** `MessageSizeExceeded`. */
  messageSizeExceeded: 'amqp:link:message-size-exceeded',
  /** Event Hubs: `ReceiverDisconnectedError`. */
  linkStolen: 'amqp:link:stolen',
  /** Retryable. */
  connectionForced: 'amqp:connection:forced',
  /** `ServiceBusy`, retryable. */
  serverBusy: 'com.microsoft:server-busy',
  argumentError: 'com.microsoft:argument-error',
  argumentOutOfRange: 'com.microsoft:argument-out-of-range',
  entityDisabled: 'com.microsoft:entity-disabled',
  /** `ServiceTimeout`. */
  timeout: 'com.microsoft:timeout',
  messageLockLost: 'com.microsoft:message-lock-lost',
  messageNotFound: 'com.microsoft:message-not-found',
  sessionLockLost: 'com.microsoft:session-lock-lost',
  sessionCannotBeLocked: 'com.microsoft:session-cannot-be-locked',
  deadLetter: 'com.microsoft:dead-letter',
} as const;

/** The refusal the SDKs recognise by its text. */
export function entityNotFound(address: string): AmqpError {
  return {
    condition: amqpConditions.notFound,
    description: `The messaging entity '${address}' could not be found. Create it in the entities file or allow entities to be made on first use.`,
  };
}
