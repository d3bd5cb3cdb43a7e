import { setTimeout as delay } from 'node:timers/promises';
import {
  CodedError,
  collectionRoutes,
  isCodedError,
  type Client,
  type CollectionChangeView,
  type CollectionDefinition,
  type CollectionPlan,
  type CollectionView,
  type ErrorBody,
} from '@drover/contracts';
import { stringify } from 'yaml';
import { readDefinitionFiles } from '../collections/definition-files.js';
import type { ClientFlags } from '../flags.js';
import { losesValues, renderCollections, renderPlans } from '../output/collection-lines.js';
import { printJson } from '../output/print-json.js';
import { confirm } from './confirm.js';
import { connect } from './connect.js';
import {
  definitionRoutes,
  planPicklists,
  putPicklist,
  renderPicklistPlans,
  withNewPicklists,
  type PicklistPlan,
} from './picklists.js';

type Collections = Client<typeof collectionRoutes>;
type ConfirmedFlags = ClientFlags & { readonly yes?: boolean };

/** The platform answers after 20 seconds at most, also while a change goes on. */
const changeTimeoutMs = 60_000;
const followPollMs = 500;

export async function listCollections(flags: ClientFlags, host: NodeJS.Process): Promise<void> {
  const collections = await allCollections(await connect(collectionRoutes, flags, host));
  if (flags.json) return printJson(host, collections);
  printLines(host, renderCollections(collections));
  if (collections.length === 0)
    host.stderr.write('No collection is defined. Define one with "drover collections apply <file>".\n');
}

/** Prints a definition so that it can be edited and applied. */
export async function showCollection(
  name: string,
  { version, ...flags }: ClientFlags & { readonly version?: number },
  host: NodeJS.Process,
): Promise<void> {
  const client = await connect(collectionRoutes, flags, host);
  const params = { collection: name };
  const shown =
    version === undefined
      ? await client.getCollection({ params })
      : await client.getCollectionVersion({ params: { ...params, version } });
  if (flags.json) return printJson(host, shown);
  host.stdout.write(stringify(shown.definition));
}

export async function listVersions(name: string, flags: ClientFlags, host: NodeJS.Process): Promise<void> {
  const client = await connect(collectionRoutes, flags, host);
  const { versions } = await client.listCollectionVersions({ params: { collection: name } });
  if (flags.json) return printJson(host, versions);
  printLines(
    host,
    versions.map(({ version, createdAt, createdBy }) => `${String(version).padStart(5)}  ${createdAt}  ${createdBy}`),
  );
}

export async function planCollections(
  files: readonly string[],
  flags: ClientFlags,
  host: NodeJS.Process,
): Promise<void> {
  const wanted = await readDefinitionFiles(files);
  const client = await connect(definitionRoutes, flags, host);
  const picklists = await planPicklists(client, wanted.picklists);
  const plans = await planDefinitions(client, wanted.collections, picklists);
  if (flags.json) printJson(host, picklists.length === 0 ? plans : { plans, picklists });
  else printLines(host, [...renderPicklistPlans(picklists), ...renderPlans(plans)]);
  if (isRefused(plans)) host.exitCode = 1;
}

/** Prints the plan, asks whether to carry it out, and does so. */
export async function applyCollections(
  files: readonly string[],
  flags: ConfirmedFlags,
  host: NodeJS.Process,
): Promise<void> {
  const { collections, picklists: wanted } = await readDefinitionFiles(files);
  const client = await connect(definitionRoutes, flags, host, { timeoutMs: changeTimeoutMs });
  const picklists = await planPicklists(client, wanted);
  const plans = await planDefinitions(client, collections, picklists);
  if (!flags.json) printLines(host, [...renderPicklistPlans(picklists), ...renderPlans(plans)]);
  if (isRefused(plans)) throw new Error('The plan is refused. Correct the definitions, and apply them again.');
  if ([...plans, ...picklists].every(({ action }) => action === 'none'))
    return flags.json ? printJson(host, { plans }) : undefined;
  const warning = losesValues(plans) ? 'Stored values are deleted. ' : '';
  await confirm(`${warning}Apply the plan?`, flags, host);
  // Before the collections, whose fields take their values from them.
  for (const { picklist, action } of picklists) if (action !== 'none') await putPicklist(client, picklist);
  if (collections.length === 0) return flags.json ? printJson(host, { picklists }) : undefined;
  const applied = await withProblems(client.applyCollections({ body: { collections } }));
  for (const { name, change } of applied.collections) if (change) await followChange(client, name, change, host);
  if (flags.json) return printJson(host, applied);
  for (const { name, version, change } of applied.collections)
    host.stdout.write(`The collection ${name} has version ${change ? change.fromVersion + 1 : version}.\n`);
}

async function planDefinitions(
  client: Pick<Collections, 'planCollections'>,
  collections: readonly CollectionDefinition[],
  picklists: readonly PicklistPlan[],
): Promise<readonly CollectionPlan[]> {
  if (collections.length === 0) return [];
  const body = { collections: withNewPicklists(collections, picklists) };
  return (await withProblems(client.planCollections({ body }))).plans;
}

/** Large tables take longer to change than a request may: shows the progress until the change has ended. */
async function followChange(
  client: Pick<Collections, 'listCollectionChanges'>,
  collection: string,
  { id }: CollectionChangeView,
  host: NodeJS.Process,
): Promise<void> {
  let shown = '';
  for (;;) {
    const { changes } = await client.listCollectionChanges({ params: { collection } });
    const change = changes.find((one) => one.id === id);
    if (change?.state === 'done') return;
    if (change?.state !== 'running')
      throw new Error(
        `The change of ${collection} was refused. ${change?.refusals.map(({ message }) => message).join(' ') ?? ''}`,
      );
    const progress =
      change.recordsTotal === undefined ? '' : ` (${change.recordsDone} of ${change.recordsTotal} records)`;
    const line = `${collection}: ${change.step}${progress}\n`;
    if (line !== shown) host.stderr.write(line);
    shown = line;
    await delay(followPollMs);
  }
}

export async function deleteCollection(name: string, flags: ConfirmedFlags, host: NodeJS.Process): Promise<void> {
  const client = await connect(collectionRoutes, flags, host, { timeoutMs: changeTimeoutMs });
  const { version } = await client.getCollection({ params: { collection: name } });
  await confirm(`Delete the collection ${name} with all of its records?`, flags, host);
  await client.deleteCollection({ params: { collection: name }, query: { expectedVersion: version } });
  if (flags.json) return printJson(host, { deleted: name });
  host.stdout.write(`The collection ${name} is deleted.\n`);
}

/** Prints a TypeScript module with the types of all collections and a client for their records. */
export async function writeClient(flags: ClientFlags, host: NodeJS.Process): Promise<void> {
  const collections = await allCollections(await connect(collectionRoutes, flags, host));
  const { recordsClient } = await import('@drover/collection-engine');
  host.stdout.write(recordsClient(collections.map(({ definition }) => definition)));
}

async function allCollections(client: Collections): Promise<CollectionView[]> {
  const collections: CollectionView[] = [];
  let after: string | undefined;
  do {
    const page = await client.listCollections({ query: { limit: 200, ...(after !== undefined && { after }) } });
    collections.push(...page.collections);
    after = page.next;
  } while (after !== undefined);
  return collections;
}

/** Puts every problem of a definition on a line of its own. */
async function withProblems<T>(answer: Promise<T>): Promise<T> {
  try {
    return await answer;
  } catch (error) {
    if (!isCodedError(error)) throw error;
    const { details = [] } = error.details as Partial<ErrorBody>; // the body of the response
    if (details.length === 0) throw error;
    const lines = details.map(({ path, message }) => `\n  ${path}: ${message}`);
    throw new CodedError(error.code, error, `The definitions are invalid:${lines.join('')}`, error.details, error);
  }
}

function isRefused(plans: readonly CollectionPlan[]): boolean {
  return plans.some(({ refusals }) => refusals.length > 0);
}

function printLines(host: NodeJS.Process, lines: readonly string[]): void {
  for (const line of lines) host.stdout.write(`${line}\n`);
}
