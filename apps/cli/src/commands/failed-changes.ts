import { failedChangeRoutes, type FailedChangesChosen } from '@drover/contracts';
import type { ClientFlags } from '../flags.js';
import { columns, counted } from '../output/application-lines.js';
import { printJson } from '../output/print-json.js';
import { connect } from './connect.js';

interface Selection {
  readonly collection?: string;
  readonly app?: string;
  readonly function?: string;
}
type ChoosingFlags = ClientFlags & Selection & { readonly all?: boolean };

export async function listFailedChanges(
  {
    limit = 50,
    collection,
    app,
    function: functionName,
    ...flags
  }: ClientFlags & Selection & { readonly limit?: number },
  host: NodeJS.Process,
): Promise<void> {
  const client = await connect(failedChangeRoutes, flags, host);
  const query = { limit, ...selectionOf({ collection, app, function: functionName }) };
  const { failedChanges } = await client.listFailedChanges({ query });
  if (flags.json) return printJson(host, failedChanges);
  const rows = failedChanges.map((one) => [
    one.id,
    one.state,
    `${one.application}/${one.function}`,
    `${one.kind} ${one.collection} ${one.recordId}`,
    counted(one.deliveries, 'run'),
    one.failedAt,
    one.reason.split('\n')[0] ?? '',
  ]);
  for (const line of columns(rows)) host.stdout.write(`${line}\n`);
}

export async function showFailedChange(id: string, flags: ClientFlags, host: NodeJS.Process): Promise<void> {
  const client = await connect(failedChangeRoutes, flags, host);
  const shown = await client.getFailedChange({ params: { failedChangeId: id } });
  printJson(host, shown);
}

export async function replayFailedChanges(
  ids: readonly string[],
  flags: ChoosingFlags,
  host: NodeJS.Process,
): Promise<void> {
  const body = chosenBy(ids, flags);
  const answer = await (await connect(failedChangeRoutes, flags, host)).replayFailedChanges({ body });
  if (flags.json) return printJson(host, answer);
  host.stdout.write(`${counted(answer.replaying, 'change')} will be delivered again.\n`);
}

export async function dropFailedChanges(
  ids: readonly string[],
  flags: ChoosingFlags,
  host: NodeJS.Process,
): Promise<void> {
  const body = chosenBy(ids, flags);
  const answer = await (await connect(failedChangeRoutes, flags, host)).dropFailedChanges({ body });
  if (flags.json) return printJson(host, answer);
  host.stdout.write(`${counted(answer.dropped, 'change')} dropped.\n`);
}

function chosenBy(ids: readonly string[], { all, ...flags }: ChoosingFlags): FailedChangesChosen {
  const chosen = { ...(ids.length > 0 && { ids: [...ids] }), ...selectionOf(flags), ...(all && { all }) };
  if (Object.keys(chosen).length === 0)
    throw new Error('No change is named. Name ids, or use --collection, --app, --function or --all.');
  return chosen;
}

function selectionOf({
  collection,
  app,
  function: functionName,
}: {
  readonly [Name in keyof Selection]: Selection[Name] | undefined;
}): Pick<FailedChangesChosen, 'collection' | 'application' | 'function'> {
  return {
    ...(collection !== undefined && { collection }),
    ...(app !== undefined && { application: app }),
    ...(functionName !== undefined && { function: functionName }),
  };
}
