import type { Binding, FunctionDefinition } from '../applications/function-definition.js';
import type { Settings } from '../applications/settings.js';
import {
  developmentEndpoints,
  storageEndpoint,
  type DevelopmentEndpoint,
  type EmulatedPort,
} from './development-endpoints.js';

/** A queue of Service Bus, or a subscription, that a trigger of an application receives from. */
interface DemandedReceiver {
  readonly name: string;
  readonly requiresSession: boolean;
}

/** Entities that bindings name. They must exist before first use: a session queue cannot be told from another by its name. */
export interface DemandedEntities {
  readonly queues: readonly DemandedReceiver[];
  readonly topics: readonly { readonly name: string; readonly subscriptions: readonly DemandedReceiver[] }[];
  readonly eventHubs: readonly { readonly name: string; readonly consumerGroups: readonly string[] }[];
}

/** An emulator that an application needs. */
export interface DemandedEndpoint extends DevelopmentEndpoint {
  readonly entities: DemandedEntities;
}

export const noEntities: DemandedEntities = { queues: [], topics: [], eventHubs: [] };

const storageSetting = 'AzureWebJobsStorage';

/** The services that a binding uses at its connection, and the connection it has if it names none. */
const servicesOfTypes: Readonly<
  Record<string, { readonly setting: string; readonly services: readonly EmulatedPort[] }>
> = {
  queuetrigger: { setting: storageSetting, services: ['queue'] },
  queue: { setting: storageSetting, services: ['queue'] },
  blobtrigger: { setting: storageSetting, services: ['blob', 'queue'] }, // poison messages go to a queue
  blob: { setting: storageSetting, services: ['blob'] },
  table: { setting: storageSetting, services: ['table'] },
  servicebustrigger: { setting: 'ServiceBus', services: ['amqp'] },
  servicebus: { setting: 'ServiceBus', services: ['amqp'] },
  eventhubtrigger: { setting: 'AzureWebJobsEventHub', services: ['amqp'] },
  eventhub: { setting: 'AzureWebJobsEventHub', services: ['amqp'] },
};

/** Triggers whose state is in blobs of the application's storage account if the runtime has no database. */
const statefulTriggers = new Set(['timertrigger', 'eventhubtrigger', 'blobtrigger']);

/** Returns the emulators that the bindings of a function use. `hasDatabase`: the state of triggers is not in blobs. */
export function demandOf(
  definition: FunctionDefinition,
  settings: Settings,
  { hasDatabase }: { readonly hasDatabase: boolean },
): readonly DemandedEndpoint[] {
  const { trigger, inputs, outputs, returns } = definition;
  const bindings = [trigger, ...inputs, ...outputs, ...(returns ? [returns] : [])];
  const ofBindings = bindings.flatMap((binding) => bindingDemand(binding, settings));
  const ofState =
    !hasDatabase && statefulTriggers.has(trigger.type.toLowerCase())
      ? endpointsOf(storageSetting, ['blob'], settings).map((endpoint) => ({ ...endpoint, entities: noEntities }))
      : [];
  return mergeDemands([...ofBindings, ...ofState]);
}

/**
 * Returns the emulators that settings ask for by a connection string for development, whatever uses it: the code of an application
 * may connect by itself. `except` are settings that were not set by the application.
 */
export function demandOfSettings(settings: Settings, except: readonly string[]): readonly DemandedEndpoint[] {
  return mergeDemands(
    Object.entries(settings.toEnvironment()).flatMap(([name, value]) =>
      except.includes(name)
        ? []
        : developmentEndpoints(value).map((endpoint) => ({ ...endpoint, entities: noEntities })),
    ),
  );
}

/** Joins demands: one for each endpoint, with all of its entities. */
export function mergeDemands(demands: readonly DemandedEndpoint[]): readonly DemandedEndpoint[] {
  const merged = new Map<string, DemandedEndpoint>();
  for (const demand of demands) {
    const key = endpointKey(demand);
    const known = merged.get(key);
    merged.set(key, known ? { ...known, entities: mergeEntities(known.entities, demand.entities) } : demand);
  }
  return [...merged.values()];
}

export function endpointKey({ service, port }: DevelopmentEndpoint): string {
  return `${service}:${port}`;
}

function bindingDemand({ type, options }: Binding, settings: Settings): readonly DemandedEndpoint[] {
  const uses = servicesOfTypes[type.toLowerCase()];
  if (!uses) return [];
  const { connection } = options;
  const setting = typeof connection === 'string' && connection.trim() !== '' ? connection.trim() : uses.setting;
  return endpointsOf(setting, uses.services, settings).map((endpoint) => ({
    ...endpoint,
    entities: endpoint.service === 'amqp' ? entitiesOf(type.toLowerCase(), options) : noEntities,
  }));
}

/** Finds a connection as bindings do: the setting may have the prefix `AzureWebJobs`, or be a section with a service URI. */
function endpointsOf(
  connection: string,
  services: readonly EmulatedPort[],
  settings: Settings,
): readonly DevelopmentEndpoint[] {
  for (const name of [`AzureWebJobs${connection}`, connection]) {
    const text = settings.get(name)?.trim();
    if (text) return developmentEndpoints(text).filter(({ service }) => services.includes(service));
    const section = settings.section(name);
    const found = services.flatMap((service) => storageEndpoint(service, section[`${service}ServiceUri`]));
    if (found.length > 0) return found;
  }
  return [];
}

function entitiesOf(type: string, options: Readonly<Record<string, unknown>>): DemandedEntities {
  const { queueName, topicName, subscriptionName, eventHubName, consumerGroup, isSessionsEnabled } = options;
  const requiresSession = isSessionsEnabled === true;
  if (type.startsWith('eventhub')) {
    const consumerGroups = isName(consumerGroup) && consumerGroup !== '$Default' ? [consumerGroup] : [];
    return isName(eventHubName) ? { ...noEntities, eventHubs: [{ name: eventHubName, consumerGroups }] } : noEntities;
  }
  if (isName(topicName)) {
    const subscriptions = isName(subscriptionName) ? [{ name: ofDeadLetters(subscriptionName), requiresSession }] : [];
    return { ...noEntities, topics: [{ name: topicName, subscriptions }] };
  }
  return isName(queueName)
    ? { ...noEntities, queues: [{ name: ofDeadLetters(queueName), requiresSession }] }
    : noEntities;
}

/** A name with an expression is known only when a message is sent. */
function isName(value: unknown): value is string {
  return typeof value === 'string' && value.trim() !== '' && !/[{}%]/.test(value);
}

/** Returns the entity whose dead letters a trigger receives. */
function ofDeadLetters(name: string): string {
  return name.replace(/\/\$deadletterqueue$/i, '');
}

function mergeEntities(one: DemandedEntities, other: DemandedEntities): DemandedEntities {
  return {
    queues: mergeReceivers([...one.queues, ...other.queues]),
    topics: byName([...one.topics, ...other.topics], (all) => ({
      name: all.name,
      subscriptions: mergeReceivers(all.same.flatMap(({ subscriptions }) => subscriptions)),
    })),
    eventHubs: byName([...one.eventHubs, ...other.eventHubs], (all) => ({
      name: all.name,
      consumerGroups: [...new Set(all.same.flatMap(({ consumerGroups }) => consumerGroups))],
    })),
  };
}

/** A trigger knows whether a queue has sessions; an output to the same queue does not. */
function mergeReceivers(receivers: readonly DemandedReceiver[]): readonly DemandedReceiver[] {
  return byName(receivers, ({ name, same }) => ({ name, requiresSession: same.some((one) => one.requiresSession) }));
}

/** Names of entities are case-insensitive. */
function byName<Entity extends { readonly name: string }>(
  entities: readonly Entity[],
  merge: (all: { readonly name: string; readonly same: readonly Entity[] }) => Entity,
): readonly Entity[] {
  const groups = new Map<string, Entity[]>();
  for (const entity of entities) {
    const key = entity.name.toLowerCase();
    groups.set(key, [...(groups.get(key) ?? []), entity]);
  }
  return [...groups.values()].flatMap((same) => (same[0] ? [merge({ name: same[0].name, same })] : []));
}
