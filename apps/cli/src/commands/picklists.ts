import {
  collectionRoutes,
  picklistRoutes,
  type Client,
  type CollectionDefinition,
  type PicklistDefinition,
  type PicklistView,
} from '@drover/contracts';
import { setTimeout as delay } from 'node:timers/promises';
import { stringify } from 'yaml';
import type { ClientFlags } from '../flags.js';
import { columns, counted } from '../output/application-lines.js';
import { printJson } from '../output/print-json.js';
import { connect } from './connect.js';
import { confirm } from './confirm.js';

/** Routes of definitions: files have both kinds. */
export const definitionRoutes = { ...collectionRoutes, ...picklistRoutes };
type Picklists = Pick<Client<typeof definitionRoutes>, 'listPicklists' | 'getPicklist' | 'putPicklist'>;

/** The platform answers after 20 seconds at most, also while records are still checked. */
const changeTimeoutMs = 60_000;
const followPollMs = 500;
/** Ten minutes. */
const mostPolls = 1_200;

export async function printPicklists(flags: ClientFlags, host: NodeJS.Process): Promise<void> {
  const { picklists } = await (await connect(picklistRoutes, flags, host)).listPicklists();
  if (flags.json) return printJson(host, picklists);
  const lines = columns(
    picklists.map(({ name, version, values, usedBy, updatedAt }) => [
      name,
      `version ${version}`,
      counted(values.length, 'value'),
      `used by ${counted(usedBy.length, 'field')}`,
      updatedAt,
    ]),
  );
  for (const line of lines) host.stdout.write(`${line}\n`);
  if (picklists.length === 0)
    host.stderr.write('No picklist is defined. Define one with "drover picklists set <picklist> <value …>".\n');
}

/** Prints a picklist as a file that can be edited and applied. */
export async function showPicklist(name: string, flags: ClientFlags, host: NodeJS.Process): Promise<void> {
  const client = await connect(picklistRoutes, flags, host);
  const shown = await client.getPicklist({ params: { picklist: name } });
  if (flags.json) return printJson(host, shown);
  host.stdout.write(stringify({ picklists: [definitionOf(shown)] }));
}

export async function setPicklist(
  [name = '', ...values]: readonly string[],
  flags: ClientFlags,
  host: NodeJS.Process,
): Promise<void> {
  const client = await connect(picklistRoutes, flags, host, { timeoutMs: changeTimeoutMs });
  const known = (await client.listPicklists()).picklists.find((one) => one.name === name);
  const stored = await putPicklist(client, { ...(known && definitionOf(known)), name, values });
  if (flags.json) return printJson(host, stored);
  host.stdout.write(`The picklist ${name} has version ${stored.version}.\n`);
}

export async function deletePicklist(
  name: string,
  flags: ClientFlags & { readonly yes?: boolean },
  host: NodeJS.Process,
): Promise<void> {
  const client = await connect(picklistRoutes, flags, host);
  await client.getPicklist({ params: { picklist: name } });
  await confirm(`Delete the picklist ${name}?`, flags, host);
  await client.deletePicklist({ params: { picklist: name } });
  if (flags.json) return printJson(host, { deleted: name });
  host.stdout.write(`The picklist ${name} is deleted.\n`);
}

/** What files would do to a picklist. */
export interface PicklistPlan {
  readonly picklist: PicklistDefinition;
  readonly action: 'create' | 'change' | 'none';
  readonly added: readonly string[];
  readonly removed: readonly string[];
}

export async function planPicklists(
  client: Picklists,
  wanted: readonly PicklistDefinition[],
): Promise<readonly PicklistPlan[]> {
  if (wanted.length === 0) return [];
  const { picklists } = await client.listPicklists();
  return wanted.map((picklist) => {
    const known = picklists.find(({ name }) => name === picklist.name);
    const values = Array.isArray(picklist.values) ? picklist.values : []; // the platform refuses others
    const isSame =
      known !== undefined && JSON.stringify(sorted(definitionOf(known))) === JSON.stringify(sorted(picklist));
    return {
      picklist,
      action: known === undefined ? 'create' : isSame ? 'none' : 'change',
      added: values.filter((value) => !known?.values.includes(value)),
      removed: (known?.values ?? []).filter((value) => !values.includes(value)),
    };
  });
}

const sorted = (definition: PicklistDefinition): unknown =>
  Object.entries(definition).toSorted(([one], [other]) => (one < other ? -1 : 1));

export function renderPicklistPlans(plans: readonly PicklistPlan[]): readonly string[] {
  return plans
    .filter(({ action }) => action !== 'none')
    .flatMap(({ picklist, action, added, removed }) => [
      `${picklist.name}: ${action === 'create' ? 'new picklist' : 'changed picklist'}`,
      ...added.map((value) => `  + ${value}`),
      ...removed.map((value) => `  - ${value}`),
    ]);
}

/** Fields of a plan have the values of picklists that the same files create: the platform does not know these yet. */
export function withNewPicklists(
  collections: readonly CollectionDefinition[],
  plans: readonly PicklistPlan[],
): CollectionDefinition[] {
  const created = new Map(
    plans.filter(({ action }) => action === 'create').map(({ picklist }) => [picklist.name, picklist.values]),
  );
  if (created.size === 0) return [...collections];
  return collections.map((definition) => {
    if (!Array.isArray(definition.fields)) return definition; // the platform says what is wrong with it
    const fields = definition.fields.map(({ picklist, ...field }) => {
      const values = created.get(picklist ?? '');
      return values ? { ...field, values } : { ...field, ...(picklist !== undefined && { picklist }) };
    });
    return { ...definition, fields };
  });
}

/** Creates or changes a picklist; resolves when its change has ended. */
export async function putPicklist(client: Picklists, definition: PicklistDefinition): Promise<PicklistView> {
  const params = { picklist: definition.name };
  const answered = await client.putPicklist({ params, body: definition });
  if (JSON.stringify(answered.values) === JSON.stringify(definition.values)) return answered;
  // Records are still checked, and the answer has the picklist as it was.
  for (let poll = 0; poll < mostPolls; poll += 1) {
    await delay(followPollMs);
    const stored = await client.getPicklist({ params });
    if (stored.version !== answered.version) return stored;
  }
  const reason = 'still has its former values. Records may have a value that is removed';
  throw new Error(`The picklist ${definition.name} ${reason}: look at it with "drover picklists show".`);
}

function definitionOf({ name, displayName, description, values }: PicklistView): PicklistDefinition {
  return {
    name,
    ...(displayName !== undefined && { displayName }),
    ...(description !== undefined && { description }),
    values,
  };
}
