/**
 * How work of a trigger is noticed while its application has no listener. Thousands of them are held at a time: they refer to names
 * and connections only, never to an extension or a client.
 */
export type ParkedTrigger = ParkedByRequests | ParkedTimer | ParkedSource;

/** Events arrive as requests to the runtime: nothing needs to be watched. */
interface ParkedByRequests {
  readonly kind: 'requests';
}

export interface ParkedTimer {
  readonly kind: 'timer';
  /** Resolves with the wall-clock time of the next occurrence, which may have passed; undefined if there is none. */
  dueAtMs(signal: AbortSignal): Promise<number | undefined>;
}

/** Messages, events or blobs that wait in a service. */
export interface ParkedSource {
  readonly kind: 'source';
  /** Identifies the source and the credentials; holds no secret. Triggers with the same key share one check. */
  readonly key: string;
  /** For logs: `queue orders`. */
  readonly name: string;
  /** The address that outputs of this process wake; undefined if no output can write to it. */
  readonly address: string | undefined;
  /** Where an emulator may tell that there is work; undefined: the source is only polled. */
  readonly notifications: NotifyingEndpoint | undefined;
  /** The longest time between two polls. */
  readonly longestPollMs: number;
  /**
   * Asks the service once. True also if it cannot be ruled out that there is work. Rejects if the service does not answer.
   */
  hasWork(clients: SharedClients, signal: AbortSignal): Promise<boolean>;
  /**
   * Resolves when there is work, also if it came since `hasWork` answered, or if that cannot be ruled out. Rejects if the service cannot
   * tell any more: it is polled then. Undefined: the source is told by `notifications`, or polled.
   */
  readonly untilWork?: (signal: AbortSignal) => Promise<void>;
  /** Loads the client library that the listener will need, so that waking up does not wait for it. */
  preload?(): Promise<unknown>;
  /** Opens ahead what the listener will need, and keeps it for the listener until the returned function is called. */
  keepReady?(): () => void;
}

export interface NotifyingEndpoint {
  /** Of the emulator, without a path. */
  readonly origin: string;
  /** Resolves with what the emulator is asked to look at, or with `work` if the listener has to start in any case. */
  interest(signal: AbortSignal): Promise<WorkInterest | 'work'>;
}

/** An entity, as it is sent to an emulator; `docs/decisions/0044-noticing-work-at-zero.md` has the protocol. */
export type WorkInterest =
  | { readonly service: 'queues'; readonly account: string; readonly entity: string }
  | { readonly service: 'service-bus'; readonly entity: string; readonly hasSessions: boolean }
  | {
      readonly service: 'event-hubs';
      readonly entity: string;
      /** Last processed sequence number by partition. */
      readonly positions: Readonly<Record<string, number>>;
      /** Of the hub that the positions belong to, where it is known. */
      readonly createdAtMs?: number;
      /** Where partitions without a position are read from; a number is the time of the first event. */
      readonly initial: 'start' | 'end' | number;
    };

/** Clients that all parked triggers of a connection share. They are closed when no trigger has used them for a while. */
export interface SharedClients {
  get<Client extends ClosableClient>(key: string, create: () => Client): Client;
}

export interface ClosableClient {
  close(): Promise<void>;
}
