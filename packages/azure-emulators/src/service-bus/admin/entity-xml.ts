import { BrokerError } from '../broker/broker-error.js';
import type { Entity } from '../broker/entity.js';
import type {
  EntityAvailability,
  EntityKind,
  EntitySettings,
  BusQueueOptions,
  SubscriptionOptions,
  TopicOptions,
} from '../broker/entity-options.js';
import { formatAtomDuration, parseAtomDuration } from './atom-duration.js';
import { childOf, escapeXml, type XmlElement } from '../../xml/xml.js';

export const serviceBusNamespace = 'http://schemas.microsoft.com/netservices/2010/10/servicebus/connect';
const instanceNamespace = 'http://www.w3.org/2001/XMLSchema-instance';
const countsNamespace = 'http://schemas.microsoft.com/netservices/2011/06/servicebus';

export const descriptionElements: Readonly<Record<EntityKind, string>> = {
  queue: 'QueueDescription',
  topic: 'TopicDescription',
  subscription: 'SubscriptionDescription',
};

/** What a link takes that names no other size. */
const defaultMessageKilobytes = 1_024;

type AnyOptions = BusQueueOptions & SubscriptionOptions & TopicOptions;

/** Reads the options in a description. Elements that are absent keep `current`, or get their default. */
export function readEntityOptions(description: XmlElement, current: Partial<EntitySettings>): AnyOptions {
  const text = (name: string): string | undefined => childOf(description, name)?.text.trim() || undefined;
  const duration = (name: string): number | undefined => {
    const value = text(name);
    return value === undefined ? undefined : parseAtomDuration(value);
  };
  const flag = (name: string): boolean | undefined => {
    const value = text(name);
    return value === undefined ? undefined : value.toLowerCase() === 'true';
  };
  const whole = (name: string): number | undefined => {
    const value = text(name);
    return value === undefined ? undefined : Number(value);
  };
  refuseUnsupported(description);
  const status = readStatus(text('Status'));
  const given = {
    lockDurationMs: duration('LockDuration'),
    maxSizeInMegabytes: whole('MaxSizeInMegabytes'),
    maxMessageSizeInKilobytes: whole('MaxMessageSizeInKilobytes'),
    requiresDuplicateDetection: flag('RequiresDuplicateDetection'),
    requiresSession: flag('RequiresSession'),
    deadLetteringOnMessageExpiration: flag('DeadLetteringOnMessageExpiration'),
    deadLetteringOnFilterEvaluationExceptions: flag('DeadLetteringOnFilterEvaluationExceptions'),
    duplicateDetectionHistoryTimeWindowMs: duration('DuplicateDetectionHistoryTimeWindow'),
    maxDeliveryCount: whole('MaxDeliveryCount'),
    supportOrdering: flag('SupportOrdering'),
    userMetadata: text('UserMetadata'),
    status,
    forwardTo: entityPath(text('ForwardTo')),
    forwardDeadLetteredMessagesTo: entityPath(text('ForwardDeadLetteredMessagesTo')),
  };
  const present = Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined));
  // An unlimited duration removes the option, an absent one keeps it.
  const limit = (name: string, now: number | undefined): number | undefined =>
    text(name) === undefined ? now : duration(name);
  const timeToLiveMs = limit('DefaultMessageTimeToLive', current.defaultMessageTimeToLiveMs);
  const idleMs = limit('AutoDeleteOnIdle', current.autoDeleteOnIdleMs);
  // Forwarding and metadata are removed by leaving them out; everything else then keeps its value.
  const removed = [
    'defaultMessageTimeToLiveMs',
    'autoDeleteOnIdleMs',
    'forwardTo',
    'forwardDeadLetteredMessagesTo',
    'userMetadata',
  ];
  const kept = Object.fromEntries(Object.entries(current).filter(([name]) => !removed.includes(name)));
  return {
    ...kept,
    ...present,
    ...(timeToLiveMs !== undefined && { defaultMessageTimeToLiveMs: timeToLiveMs }),
    ...(idleMs !== undefined && { autoDeleteOnIdleMs: idleMs }),
  };
}

/** What the emulator does not do is refused: an option that is dropped silently is missed in production. */
function refuseUnsupported(description: XmlElement): void {
  for (const name of ['EnablePartitioning', 'EnableExpress']) {
    if (childOf(description, name)?.text.trim().toLowerCase() !== 'true') continue;
    throw new BrokerError(
      'invalid-argument',
      `${name} is not offered by the emulator. Leave it out, or set it to false.`,
    );
  }
  if ((childOf(description, 'AuthorizationRules')?.children.length ?? 0) === 0) return;
  throw new BrokerError(
    'invalid-argument',
    'AuthorizationRules are not offered by the emulator, which accepts every key. Create the entity without them.',
  );
}

function readStatus(status: string | undefined): EntityAvailability | undefined {
  switch (status) {
    case undefined:
    case 'Active':
    case 'Disabled':
    case 'SendDisabled':
    case 'ReceiveDisabled':
      return status;
    default:
      throw new BrokerError('invalid-argument', `The status "${status}" does not exist.`);
  }
}

/** The SDK sends the target of forwarding as an absolute address. */
function entityPath(target: string | undefined): string | undefined {
  if (target === undefined || !target.includes('://')) return target;
  return decodeURIComponent(new URL(target.replace(/^sb:/, 'https:')).pathname.replace(/^\/+|\/+$/g, ''));
}

/** The description of an entity with its counts, in the order of the elements that Azure documents. */
export function describeEntity(entity: Entity): string {
  const name = descriptionElements[entity.description.kind];
  const fields = entity.description.kind === 'topic' ? topicFields(entity) : queueFields(entity);
  const elements = fields
    .map(([field, value]) => (value === undefined ? '' : `<${field}>${value}</${field}>`))
    .join('');
  // The SDK reads the prefix of the counts from the declaration on their parent.
  const counts = `<CountDetails xmlns:d2p1="${countsNamespace}">${countDetails(entity)}</CountDetails>`;
  return `<${name} xmlns="${serviceBusNamespace}" xmlns:i="${instanceNamespace}">${elements}${counts}</${name}>`;
}

type Field = readonly [name: string, value: string | number | boolean | undefined];

function queueFields(entity: Entity): Field[] {
  const { settings } = entity;
  const isQueue = entity.description.kind === 'queue';
  const messages =
    entity.main.store.index.size + entity.deadLetters.store.index.size + entity.transfer.store.index.size;
  return [
    ['LockDuration', formatAtomDuration(settings.lockDurationMs)],
    ...sizeFields(settings, isQueue),
    ['RequiresSession', settings.requiresSession],
    ['DefaultMessageTimeToLive', formatAtomDuration(settings.defaultMessageTimeToLiveMs)],
    ['DeadLetteringOnMessageExpiration', settings.deadLetteringOnMessageExpiration],
    [
      'DeadLetteringOnFilterEvaluationExceptions',
      isQueue ? undefined : settings.deadLetteringOnFilterEvaluationExceptions,
    ],
    [
      'DuplicateDetectionHistoryTimeWindow',
      isQueue ? formatAtomDuration(settings.duplicateDetectionHistoryTimeWindowMs) : undefined,
    ],
    ['MaxDeliveryCount', settings.maxDeliveryCount],
    ['EnableBatchedOperations', true],
    ['SizeInBytes', isQueue ? entity.main.store.bytes : undefined],
    ['MessageCount', messages],
    ['Status', settings.status],
    ['ForwardTo', optionalText(settings.forwardTo)],
    ['UserMetadata', optionalText(settings.userMetadata)],
    ...timeFields(entity),
    ['AutoDeleteOnIdle', formatAtomDuration(settings.autoDeleteOnIdleMs)],
    ['EnablePartitioning', isQueue ? false : undefined],
    ['ForwardDeadLetteredMessagesTo', optionalText(settings.forwardDeadLetteredMessagesTo)],
    ['EntityAvailabilityStatus', 'Available'],
    ['EnableExpress', isQueue ? false : undefined],
  ];
}

function topicFields(entity: Entity): Field[] {
  const { settings } = entity;
  return [
    ['DefaultMessageTimeToLive', formatAtomDuration(settings.defaultMessageTimeToLiveMs)],
    ...sizeFields(settings, true),
    ['DuplicateDetectionHistoryTimeWindow', formatAtomDuration(settings.duplicateDetectionHistoryTimeWindowMs)],
    ['EnableBatchedOperations', true],
    [
      'SizeInBytes',
      [...entity.subscriptions.values()].reduce((bytes, { main }) => bytes + main.store.bytes, entity.main.store.bytes),
    ],
    ['Status', settings.status],
    ['UserMetadata', optionalText(settings.userMetadata)],
    ...timeFields(entity),
    ['SupportOrdering', settings.supportOrdering],
    ['SubscriptionCount', entity.subscriptions.size],
    ['AutoDeleteOnIdle', formatAtomDuration(settings.autoDeleteOnIdleMs)],
    ['EnablePartitioning', false],
    ['EntityAvailabilityStatus', 'Available'],
    ['EnableExpress', false],
  ];
}

function sizeFields(settings: EntitySettings, isSized: boolean): Field[] {
  if (!isSized) return [];
  return [
    ['MaxSizeInMegabytes', settings.maxSizeInMegabytes],
    ['MaxMessageSizeInKilobytes', settings.maxMessageSizeInKilobytes ?? defaultMessageKilobytes],
    ['RequiresDuplicateDetection', settings.requiresDuplicateDetection],
  ];
}

function timeFields({ description, accessedAtMs }: Entity): Field[] {
  return [
    ['CreatedAt', new Date(description.createdAtMs).toISOString()],
    ['UpdatedAt', new Date(description.updatedAtMs).toISOString()],
    ['AccessedAt', new Date(accessedAtMs).toISOString()],
  ];
}

/** Azure counts a locked message as active. */
function countDetails(entity: Entity): string {
  const { counts } = entity.main.store;
  const details: Field[] = [
    ['ActiveMessageCount', counts.active + counts.locked],
    ['DeadLetterMessageCount', entity.deadLetters.store.index.size],
    ['ScheduledMessageCount', counts.scheduled],
    ['TransferMessageCount', 0],
    ['TransferDeadLetterMessageCount', entity.transfer.store.index.size],
  ];
  return details.map(([name, value]) => `<d2p1:${name}>${value}</d2p1:${name}>`).join('');
}

function optionalText(text: string | undefined): string | undefined {
  return text === undefined ? undefined : escapeXml(text);
}
