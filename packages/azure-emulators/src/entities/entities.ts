/** Entities of the emulators as a file declares them. An absent option has the default of the service. */
export interface Entities {
  /** Service Bus queues. */
  readonly queues: readonly QueueDefinition[];
  readonly topics: readonly TopicDefinition[];
  readonly eventHubs: readonly EventHubDefinition[];
  readonly storageQueues: readonly string[];
}

/** Options of a queue or subscription, from which messages are received. */
export interface ReceiverOptions {
  readonly lockDurationMs?: number;
  readonly maxDeliveryCount?: number;
  readonly requiresSession?: boolean;
  readonly defaultMessageTimeToLiveMs?: number;
  readonly deadLetteringOnMessageExpiration?: boolean;
  readonly forwardTo?: string;
  readonly forwardDeadLetteredMessagesTo?: string;
}

interface DuplicateDetectionOptions {
  readonly requiresDuplicateDetection?: boolean;
  readonly duplicateDetectionHistoryTimeWindowMs?: number;
}

export interface QueueDefinition extends ReceiverOptions, DuplicateDetectionOptions {
  readonly name: string;
}

export interface TopicDefinition extends DuplicateDetectionOptions {
  readonly name: string;
  readonly defaultMessageTimeToLiveMs?: number;
  readonly subscriptions: readonly SubscriptionDefinition[];
}

export interface SubscriptionDefinition extends ReceiverOptions {
  readonly name: string;
  /** Empty: the subscription receives every message. */
  readonly rules: readonly RuleDefinition[];
}

export interface RuleDefinition {
  readonly name: string;
  readonly filter:
    | { readonly kind: 'true' }
    | { readonly kind: 'false' }
    | { readonly kind: 'sql'; readonly expression: string }
    | { readonly kind: 'correlation'; readonly fields: CorrelationFields };
  /** SQL action. */
  readonly action?: string;
}

export interface CorrelationFields {
  readonly correlationId?: string;
  readonly messageId?: string;
  readonly to?: string;
  readonly replyTo?: string;
  readonly label?: string;
  readonly sessionId?: string;
  readonly replyToSessionId?: string;
  readonly contentType?: string;
  readonly properties?: Readonly<Record<string, string | number | boolean>>;
}

export interface EventHubDefinition {
  readonly name: string;
  readonly partitionCount?: number;
  /** Besides `$Default`. */
  readonly consumerGroups: readonly string[];
}

/** A file with entities that cannot be used. */
export class EntitiesInvalidError extends Error {
  override readonly name = 'EntitiesInvalidError';
  readonly code = 'EMULATOR_ENTITIES_INVALID';
  readonly problems: readonly string[];

  constructor(file: string, problems: readonly string[]) {
    const list = problems.map((problem) => `\n  - ${problem}`).join('');
    super(`The entities file ${file} cannot be used. Correct it and start again:${list}`);
    this.problems = problems;
  }
}
