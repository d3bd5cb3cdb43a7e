/** An entity that holds messages, as the live lines and the page show it. */
export interface EntityStatus {
  readonly service: EmulatedService;
  readonly kind: 'queue' | 'topic' | 'subscription' | 'event hub';
  /** Unique within its service: `orders`, `events/Subscriptions/audit`. */
  readonly name: string;
  /** Messages that can be received now; for an event hub, retained events. A topic holds none. */
  readonly depth: number;
  /** Messages that are locked by a receiver. */
  readonly inFlight: number;
  /** Messages that become active later. */
  readonly scheduled: number;
  /** For a storage queue, messages of its poison queue. */
  readonly deadLetters: number;
}

export type EmulatedService = 'service-bus' | 'event-hubs' | 'queues';

/** A message as a developer sees it. Its body is text, cut at a bound. */
export interface ShownMessage {
  /** Identifies the message in its entity: a sequence number, or the id of a storage queue message. */
  readonly id: string;
  readonly state: 'active' | 'locked' | 'scheduled' | 'deferred' | 'dead letter';
  readonly enqueuedMs: number;
  readonly deliveryCount: number;
  readonly body: string;
  readonly isCut: boolean;
  /** Message id, content type, session, partition, application properties … by name. */
  readonly properties: Readonly<Record<string, string>>;
}

/** A message that a developer sends from the page. */
export interface TypedMessage {
  readonly body: string;
  readonly contentType?: string;
  readonly sessionId?: string;
  readonly partitionKey?: string;
  readonly properties?: Readonly<Record<string, string>>;
}

/**
 * The view of one service for people: what it holds, and what can be done with it by hand. Calls take the name of an entity as
 * `entities` returns it, and throw an Error with a message for the developer if it does not exist.
 */
export interface EntityConsole {
  entities(): readonly EntityStatus[];
  /** Returns messages in order without locking them. `after` is the id of the last message of the page before. */
  peek(
    entity: string,
    options: { readonly deadLetters: boolean; readonly after?: string; readonly max: number },
  ): Promise<readonly ShownMessage[]>;
  send(entity: string, message: TypedMessage): Promise<void>;
  /** Sends all dead letters back to their entity. Returns their number. Event hubs have none. */
  requeue(entity: string): Promise<number>;
  /** Deletes all messages that no receiver has locked, or all dead letters. Returns their number. */
  purge(entity: string, options: { readonly deadLetters: boolean }): Promise<number>;
}
