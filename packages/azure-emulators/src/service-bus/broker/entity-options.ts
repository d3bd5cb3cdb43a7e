import type { RuleOptions } from '../filters/rule.js';
import { BrokerError } from './broker-error.js';

export type EntityAvailability = 'Active' | 'Disabled' | 'SendDisabled' | 'ReceiveDisabled';

/** Options of everything that holds messages: queues and subscriptions. Names and defaults are those of Azure. */
export interface BusQueueOptions {
  readonly lockDurationMs?: number;
  readonly maxDeliveryCount?: number;
  readonly requiresSession?: boolean;
  /** Longest lifetime of a message and the default. Absent = unlimited. */
  readonly defaultMessageTimeToLiveMs?: number;
  readonly deadLetteringOnMessageExpiration?: boolean;
  readonly forwardTo?: string;
  readonly forwardDeadLetteredMessagesTo?: string;
  readonly status?: EntityAvailability;
  readonly userMetadata?: string;
  readonly requiresDuplicateDetection?: boolean;
  readonly duplicateDetectionHistoryTimeWindowMs?: number;
  readonly maxSizeInMegabytes?: number;
  /** Largest message. Absent = the default of the server. */
  readonly maxMessageSizeInKilobytes?: number;
  /** The entity is deleted when it was not used for this long. Absent = never. */
  readonly autoDeleteOnIdleMs?: number;
}

export interface SubscriptionOptions
  extends Omit<
    BusQueueOptions,
    | 'requiresDuplicateDetection'
    | 'duplicateDetectionHistoryTimeWindowMs'
    | 'maxSizeInMegabytes'
    | 'maxMessageSizeInKilobytes'
  > {
  readonly deadLetteringOnFilterEvaluationExceptions?: boolean;
}

export interface TopicOptions
  extends Pick<
    BusQueueOptions,
    | 'defaultMessageTimeToLiveMs'
    | 'requiresDuplicateDetection'
    | 'duplicateDetectionHistoryTimeWindowMs'
    | 'maxSizeInMegabytes'
    | 'maxMessageSizeInKilobytes'
    | 'autoDeleteOnIdleMs'
    | 'status'
    | 'userMetadata'
  > {
  readonly supportOrdering?: boolean;
}

type OptionWithoutDefault =
  | 'defaultMessageTimeToLiveMs'
  | 'forwardTo'
  | 'forwardDeadLetteredMessagesTo'
  | 'userMetadata'
  | 'maxMessageSizeInKilobytes'
  | 'autoDeleteOnIdleMs';

/** Options with every default filled in. One shape for queues, topics and subscriptions; each uses what it has. */
export type EntitySettings = Required<Omit<BusQueueOptions, OptionWithoutDefault>> &
  Pick<BusQueueOptions, OptionWithoutDefault> & {
    readonly deadLetteringOnFilterEvaluationExceptions: boolean;
    readonly supportOrdering: boolean;
  };

export type EntityKind = 'queue' | 'topic' | 'subscription';

/** Everything about an entity except its messages. Plain data: it is journalled as it is. */
export interface EntityDescription {
  readonly kind: EntityKind;
  readonly path: string;
  readonly settings: EntitySettings;
  /** Rules of a subscription; empty for the others. */
  readonly rules: readonly RuleOptions[];
  /** Made on first use: the way it is used may still change its kind and whether it has sessions. */
  readonly isImplicit: boolean;
  readonly createdAtMs: number;
  readonly updatedAtMs: number;
}

const defaults: EntitySettings = {
  lockDurationMs: 60_000,
  maxDeliveryCount: 10,
  requiresSession: false,
  deadLetteringOnMessageExpiration: false,
  deadLetteringOnFilterEvaluationExceptions: true,
  status: 'Active',
  requiresDuplicateDetection: false,
  duplicateDetectionHistoryTimeWindowMs: 10 * 60_000,
  maxSizeInMegabytes: 1024,
  supportOrdering: true,
};

/** Fills in defaults, then checks. Throws `invalid-argument` with the value and the allowed range. */
export function compileSettings(options: BusQueueOptions & SubscriptionOptions & TopicOptions): EntitySettings {
  const given = Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined));
  const settings = { ...defaults, ...given };
  checkRange('lockDurationMs', settings.lockDurationMs, 1, 300_000);
  checkRange('maxDeliveryCount', settings.maxDeliveryCount, 1, 0x7fff_ffff);
  checkRange('maxSizeInMegabytes', settings.maxSizeInMegabytes, 1, 81_920);
  checkRange(
    'duplicateDetectionHistoryTimeWindowMs',
    settings.duplicateDetectionHistoryTimeWindowMs,
    1,
    7 * 86_400_000,
  );
  if (settings.defaultMessageTimeToLiveMs !== undefined) {
    checkRange('defaultMessageTimeToLiveMs', settings.defaultMessageTimeToLiveMs, 1, Number.MAX_SAFE_INTEGER);
  }
  if (settings.maxMessageSizeInKilobytes !== undefined)
    checkRange('maxMessageSizeInKilobytes', settings.maxMessageSizeInKilobytes, 1_024, 102_400);
  if (settings.autoDeleteOnIdleMs !== undefined)
    checkRange('autoDeleteOnIdleMs', settings.autoDeleteOnIdleMs, 300_000, Number.MAX_SAFE_INTEGER);
  return settings;
}

function checkRange(name: string, value: number, least: number, most: number): void {
  if (Number.isInteger(value) && value >= least && value <= most) return;
  throw new BrokerError(
    'invalid-argument',
    `The option ${name} is ${value}. Use a whole number from ${least} to ${most}.`,
  );
}

/** Azure's limit for queue and topic paths; subscriptions and rules are shorter. */
const maxNameLength = { queue: 260, topic: 260, subscription: 50, rule: 50 };

/** Throws `invalid-argument` if Azure would not accept the name. */
export function checkName(kind: keyof typeof maxNameLength, name: string): void {
  const pattern = kind === 'queue' || kind === 'topic' ? /^[A-Za-z0-9](?:[\w./~-]*[A-Za-z0-9_])?$/ : /^[\w.$-]+$/;
  if (name.length <= maxNameLength[kind] && pattern.test(name) && !/(?:^|\/)subscriptions\//i.test(name)) return;
  throw new BrokerError(
    'invalid-argument',
    `The ${kind} name "${name}" is not valid. Use at most ${maxNameLength[kind]} letters, digits, periods, hyphens and underscores.`,
  );
}
