import {
  EntitiesInvalidError,
  type CorrelationFields,
  type Entities,
  type EventHubDefinition,
  type QueueDefinition,
  type ReceiverOptions,
  type RuleDefinition,
  type SubscriptionDefinition,
  type TopicDefinition,
} from './entities.js';
import { parseJsonWithComments } from './json-with-comments.js';
import { SectionReader } from './section-reader.js';

const entityName = /^[A-Za-z0-9](?:[A-Za-z0-9._/-]{0,258}[A-Za-z0-9])?$/;
const entityNameRule =
  'up to 260 letters, digits, periods, hyphens, underscores and slashes, with a letter or digit at both ends';
const partName = /^[A-Za-z0-9$](?:[A-Za-z0-9._-]{0,48}[A-Za-z0-9])?$/;
const partNameRule = 'up to 50 letters, digits, periods, hyphens and underscores';
const storageQueueName = /^(?=.{3,63}$)[a-z0-9]+(?:-[a-z0-9]+)*$/;

const longestMs = Number.MAX_SAFE_INTEGER;
const lockBounds = { least: 1_000, most: 300_000 };
/** The largest int of .NET, which NServiceBus sets: as often as it takes. */
const countBounds = { least: 1, most: 0x7fff_ffff };
const timeToLiveBounds = { least: 1_000, most: longestMs };
const windowBounds = { least: 1_000, most: 7 * 24 * 3_600_000 };
const partitionBounds = { least: 1, most: 1_024 };

/**
 * Reads the entities that exist from the start: our own file (`queues`, `topics`, `eventHubs`, `storageQueues`), or `Config.json` of
 * Microsoft's Service Bus or Event Hubs emulator. Throws EntitiesInvalidError with all problems. `file` is for messages only.
 */
export function readEntities(text: string, file: string): Entities {
  const problems: string[] = [];
  const parsed = parse(text, problems);
  const entities = problems.length > 0 ? empty : readRoot(parsed, problems);
  checkNames(entities, problems);
  if (problems.length > 0) throw new EntitiesInvalidError(file, problems);
  return entities;
}

const empty: Entities = { queues: [], topics: [], eventHubs: [], storageQueues: [] };

function parse(text: string, problems: string[]): unknown {
  try {
    return parseJsonWithComments(text);
  } catch (error) {
    problems.push(`it is not JSON: ${error instanceof Error ? error.message : String(error)}`);
    return undefined;
  }
}

function readRoot(value: unknown, problems: string[]): Entities {
  const root = SectionReader.open('', value, problems);
  root.ignore('$schema');
  const user = root.section('UserConfig');
  const own = readNamespace(root);
  root.end();
  if (!user) return own;
  user.ignore('Logging', 'LoggingConfig');
  const namespaces = [...user.sections('Namespaces'), ...user.sections('NamespaceConfig')].map((one) => {
    one.ignore('Name', 'Type');
    const found = readNamespace(one);
    one.end();
    return found;
  });
  user.end();
  return [own, ...namespaces].reduce((all, one) => ({
    queues: [...all.queues, ...one.queues],
    topics: [...all.topics, ...one.topics],
    eventHubs: [...all.eventHubs, ...one.eventHubs],
    storageQueues: [...all.storageQueues, ...one.storageQueues],
  }));
}

function readNamespace(section: SectionReader): Entities {
  return {
    queues: section.sections('queues').map(readQueue),
    topics: section.sections('topics').map(readTopic),
    // The Event Hubs emulator calls its hubs entities.
    eventHubs: [...section.sections('eventHubs'), ...section.sections('entities')].map(readEventHub),
    storageQueues: readStorageQueues(section),
  };
}

function readStorageQueues(section: SectionReader): readonly string[] {
  const names = section.texts('storageQueues');
  for (const name of names)
    if (!storageQueueName.test(name))
      section.problem(
        `storageQueues: "${name}" is not the name of a storage queue: 3 to 63 lower-case letters, digits and single hyphens`,
      );
  return names;
}

function readQueue(section: SectionReader): QueueDefinition {
  const name = section.name(entityName, entityNameRule);
  const options = withProperties(section, (own) => ({ ...readReceiver(own), ...readDuplicates(own) }));
  section.end();
  return { name, ...options };
}

function readTopic(section: SectionReader): TopicDefinition {
  const name = section.name(entityName, entityNameRule);
  const subscriptions = section.sections('subscriptions').map(readSubscription);
  const options = withProperties(section, (own) => ({
    ...given('defaultMessageTimeToLiveMs', own.durationMs('defaultMessageTimeToLive', timeToLiveBounds)),
    ...readDuplicates(own),
  }));
  section.end();
  return { name, subscriptions, ...options };
}

function readSubscription(section: SectionReader): SubscriptionDefinition {
  const name = section.name(partName, partNameRule);
  const rules = section.sections('rules').map(readRule);
  const options = withProperties(section, readReceiver);
  section.end();
  return { name, rules, ...options };
}

function readReceiver(section: SectionReader): ReceiverOptions {
  return {
    ...given('lockDurationMs', section.durationMs('lockDuration', lockBounds)),
    ...given('maxDeliveryCount', section.wholeNumber('maxDeliveryCount', countBounds)),
    ...given('requiresSession', section.flag('requiresSession')),
    ...given('defaultMessageTimeToLiveMs', section.durationMs('defaultMessageTimeToLive', timeToLiveBounds)),
    ...given('deadLetteringOnMessageExpiration', section.flag('deadLetteringOnMessageExpiration')),
    ...given('forwardTo', section.text('forwardTo')),
    ...given('forwardDeadLetteredMessagesTo', section.text('forwardDeadLetteredMessagesTo')),
  };
}

function readDuplicates(section: SectionReader): Pick<QueueDefinition, 'requiresDuplicateDetection'> {
  return {
    ...given('requiresDuplicateDetection', section.flag('requiresDuplicateDetection')),
    ...given(
      'duplicateDetectionHistoryTimeWindowMs',
      section.durationMs('duplicateDetectionHistoryTimeWindow', windowBounds),
    ),
  };
}

function readRule(section: SectionReader): RuleDefinition {
  const name = section.name(partName, partNameRule);
  const rule = withProperties(section, (own) => {
    const action = own.section('action');
    const expression = action?.text('sqlExpression');
    action?.end();
    return { filter: readFilter(own), ...given('action', expression) };
  });
  section.end();
  return { name, ...rule };
}

function readFilter(section: SectionReader): RuleDefinition['filter'] {
  const type = section.text('filterType')?.toLowerCase();
  const sql = section.section('sqlFilter');
  const expression = sql?.text('sqlExpression') ?? section.text('sqlExpression');
  sql?.end();
  const correlation = section.section('correlationFilter');
  const fields = correlation && readCorrelation(correlation);
  correlation?.end();
  if (fields && type !== 'sql') return { kind: 'correlation', fields };
  if (expression !== undefined && type !== 'correlation') return { kind: 'sql', expression };
  if (type === 'true' || type === 'false') return { kind: type };
  section.problem('needs a filter: sqlFilter with a sqlExpression, or correlationFilter');
  return { kind: 'true' };
}

function readCorrelation(section: SectionReader): CorrelationFields {
  const keys = ['correlationId', 'messageId', 'to', 'replyTo', 'label', 'sessionId', 'replyToSessionId', 'contentType'];
  const fields = keys.flatMap((key) => {
    const value = section.text(key);
    return value === undefined ? [] : [[key, value] as const];
  });
  return { ...Object.fromEntries(fields), ...given('properties', section.properties('properties')) };
}

function readEventHub(section: SectionReader): EventHubDefinition {
  const name = section.name(entityName, entityNameRule);
  const consumerGroups = section.sections('consumerGroups').map((group) => {
    const own = group.name(partName, partNameRule);
    group.end();
    return own;
  });
  const options = withProperties(section, (own) => ({
    ...given('partitionCount', own.wholeNumber('partitionCount', partitionBounds)),
  }));
  section.end();
  return { name, consumerGroups, ...options };
}

/** Options stand beside the name, or under `Properties` as in Microsoft's files. */
function withProperties<T>(section: SectionReader, read: (options: SectionReader) => T): T {
  const nested = section.section('properties');
  if (!nested) return read(section);
  const options = read(nested);
  nested.end();
  return options;
}

/** An absent option stays absent. */
function given<Key extends string, Value>(key: Key, value: Value | undefined): { [K in Key]?: Value } {
  return value === undefined ? {} : ({ [key]: value } as { [K in Key]: Value }); // one key, of this type
}

/** Names are case-insensitive on the wire, and queues, topics and event hubs share one port. */
function checkNames({ queues, topics, eventHubs, storageQueues }: Entities, problems: string[]): void {
  const onAmqp = [...queues, ...topics, ...eventHubs].map(({ name }) => name);
  for (const name of repeated(onAmqp))
    problems.push(`"${name}" is used twice. Queues, topics and event hubs share one port and need different names`);
  for (const name of repeated(storageQueues)) problems.push(`storageQueues has "${name}" twice`);
  for (const topic of topics)
    for (const name of repeated(topic.subscriptions.map((one) => one.name)))
      problems.push(`the topic "${topic.name}" has the subscription "${name}" twice`);
}

function repeated(names: readonly string[]): readonly string[] {
  const folded = names.filter((name) => name !== '').map((name) => name.toLowerCase());
  return [...new Set(folded.filter((name, index) => folded.indexOf(name) !== index))];
}
