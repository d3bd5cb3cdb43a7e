import type { InitialOffset } from './option-kinds.js';

/** One event of a partition. */
export interface HubEvent {
  readonly sequenceNumber: number;
  readonly offset: string;
  readonly enqueuedAtMs: number;
  readonly partitionKey: string | undefined;
  /** Bytes; text if the sender used an AMQP value. */
  readonly body: Uint8Array | string;
  readonly properties: Readonly<Record<string, unknown>>;
  /** Position, annotations and message properties by the names of the protocol. */
  readonly systemProperties: Readonly<Record<string, unknown>>;
  /** Set when its batch was processed or passed over. */
  isFinished: boolean;
}

/** Where a reader begins. */
export type ReadPosition =
  | InitialOffset
  | { readonly kind: 'after'; readonly sequenceNumber: number }
  /** For checkpoints without a sequence number. */
  | { readonly kind: 'after-offset'; readonly offset: string };

export interface HubDescription {
  readonly partitionIds: readonly string[];
  /** Distinguishes a hub from one of the same name that was deleted. */
  readonly createdAtMs: number;
}

/** The ends of a partition. */
export interface PartitionEnds {
  /** Number of the first event that is still stored. */
  readonly first: number;
  /** -1 if the partition never had an event. */
  readonly last: number;
  readonly lastOffset: string;
  readonly lastEnqueuedAtMs: number;
}

export interface ReadRequest {
  readonly partitionId: string;
  readonly consumerGroup: string;
  readonly position: ReadPosition;
  /** A reader with a higher or equal level disconnects this one, and one with a lower level is refused. */
  readonly ownerLevel: number;
  readonly onEvent: (event: HubEvent) => void;
}

/** A reader of one partition. It delivers as many events as it was given credit for. */
export interface HubReader {
  addCredit(events: number): void;
  /** Resolves with the reason when the reader has ended, also after `close`. */
  readonly ended: Promise<unknown>;
  close(): void;
}

/** One event hub. Requests reject with an error that `hubFailureOf` classifies. */
export interface HubClient {
  readonly name: string;
  /** The fully qualified namespace. */
  readonly host: string;
  describe(signal: AbortSignal): Promise<HubDescription>;
  ends(partitionId: string, signal: AbortSignal): Promise<PartitionEnds>;
  read(request: ReadRequest, signal: AbortSignal): Promise<HubReader>;
  close(): Promise<void>;
}

/** Copies events to another hub. */
export interface DeadLetterTarget {
  readonly name: string;
  send(events: readonly HubEvent[], reason: string, signal: AbortSignal): Promise<void>;
}
