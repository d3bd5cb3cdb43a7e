import type { Binding } from './function-definition.js';
import {
  eventHubsSection,
  queuesSection,
  serviceBusSection,
  type EventHubsOptions,
  type HostJson,
  type QueuesOptions,
  type ServiceBusOptions,
} from './host-json-schema.js';
import type { OptionFields, Options, OptionSection } from './option-fields.js';
import { readOptions, type OptionProblem } from './read-options.js';

/** Options of one trigger, or why it cannot have them. */
export type TriggerOptions<Value> = { readonly options: Value } | { readonly problem: string };

/**
 * Every option that host.json has for all triggers of a kind may also stand on a trigger itself, which then wins: libraries
 * pass names they do not know through.
 */
export function queueTriggerOptions(
  { options }: Binding,
  hostJson: HostJson,
  cores: number,
): TriggerOptions<QueuesOptions & { readonly newBatchThreshold: number }> {
  const own = override(queuesSection, options, hostJson.extensions.queues);
  if ('problem' in own) return own;
  const { batchSize, newBatchThreshold = Math.floor((batchSize * cores) / 2) } = own.options;
  return { options: { ...own.options, newBatchThreshold } };
}

export function serviceBusTriggerOptions(
  { options }: Binding,
  hostJson: HostJson,
  cores: number,
): TriggerOptions<ServiceBusOptions & { readonly maxConcurrentCalls: number }> {
  const own = override(serviceBusSection, options, hostJson.extensions.serviceBus);
  if ('problem' in own) return own;
  return { options: { ...own.options, maxConcurrentCalls: own.options.maxConcurrentCalls ?? 16 * cores } };
}

export function eventHubTriggerOptions({ options }: Binding, hostJson: HostJson): TriggerOptions<EventHubsOptions> {
  return override(eventHubsSection, options, hostJson.extensions.eventHubs);
}

/** Only names that the section knows: the binding has others of its own, such as `queueName`. */
function override<Fields extends OptionFields>(
  section: OptionSection<Fields>,
  options: Readonly<Record<string, unknown>>,
  defaults: Options<Fields>,
): TriggerOptions<Options<Fields>> {
  const known = new Set(Object.keys(section.fields).map((name) => name.toLowerCase()));
  const given = Object.entries(options).filter(([name, value]) => known.has(name.toLowerCase()) && value !== null);
  if (given.length === 0) return { options: defaults };
  const problems: OptionProblem[] = [];
  const read: Readonly<Record<string, unknown>> = readOptions(section, Object.fromEntries(given), problems);
  const [first] = problems;
  if (first) return { problem: `its option ${first.at} ${first.problem}` };
  const names = new Set(given.flatMap(([name]) => [name.toLowerCase(), `${name.toLowerCase()}ms`]));
  const own = Object.fromEntries(Object.entries(read).filter(([name]) => names.has(name.toLowerCase())));
  return { options: { ...defaults, ...own } };
}
