import { recordChangeKinds, webhookDeliveryStates, webhookRoutes, type RecordWebhook } from '@drover/contracts';
import type { ClientFlags } from '../flags.js';
import { columns, counted } from '../output/application-lines.js';
import { printJson } from '../output/print-json.js';
import { connect } from './connect.js';

type EventFlags = ClientFlags & { readonly event?: readonly string[] };

export async function listWebhooks(flags: ClientFlags, host: NodeJS.Process): Promise<void> {
  const { webhooks } = await (await connect(webhookRoutes, flags, host)).listWebhooks();
  if (flags.json) return printJson(host, webhooks);
  const rows = webhooks.map(({ id, collection, url, events, active }) => [
    id,
    collection,
    events.length === recordChangeKinds.length ? 'all changes' : events.join(', '),
    active ? 'on' : 'off',
    url,
  ]);
  for (const line of columns(rows)) host.stdout.write(`${line}\n`);
}

export async function createWebhook(
  collection: string,
  url: string,
  { event, ...flags }: EventFlags,
  host: NodeJS.Process,
): Promise<void> {
  const client = await connect(webhookRoutes, flags, host);
  const created = await client.createWebhook({ body: { collection, url, ...eventsOf(event) } });
  printSecret(host, flags, created, `The webhook ${created.id} sends changes of ${collection} from now on.`);
}

export async function changeWebhook(
  webhookId: string,
  {
    url,
    event,
    off,
    on,
    ...flags
  }: EventFlags & { readonly url?: string; readonly off?: boolean; readonly on?: boolean },
  host: NodeJS.Process,
): Promise<void> {
  if (off && on) throw new Error('A webhook cannot be switched off and on at once. Use --off or --on.');
  const isActive = off ? { active: false } : on ? { active: true } : {};
  const body = { ...(url !== undefined && { url }), ...eventsOf(event), ...isActive };
  if (Object.keys(body).length === 0) throw new Error('Nothing is to be changed. Use --url, --event, --off or --on.');
  const client = await connect(webhookRoutes, flags, host);
  const changed = await client.changeWebhook({ params: { webhookId }, body });
  if (flags.json) return printJson(host, changed);
  host.stdout.write(`The webhook ${webhookId} is ${changed.active ? 'on' : 'off'} and sends to ${changed.url}.\n`);
}

export async function rotateWebhook(
  webhookId: string,
  { overlapHours = 24, ...flags }: ClientFlags & { readonly overlapHours?: number },
  host: NodeJS.Process,
): Promise<void> {
  const client = await connect(webhookRoutes, flags, host);
  const body = { overlapMs: overlapHours * 3_600_000 };
  const rotated = await client.rotateWebhookSecret({ params: { webhookId }, body });
  const { formerSecretUntil } = rotated;
  const former =
    formerSecretUntil === undefined
      ? 'The former secret does not sign any more.'
      : `Requests have the signatures of both secrets until ${formerSecretUntil}.`;
  printSecret(host, flags, rotated, former);
}

export async function deleteWebhook(webhookId: string, flags: ClientFlags, host: NodeJS.Process): Promise<void> {
  await (await connect(webhookRoutes, flags, host)).deleteWebhook({ params: { webhookId } });
  if (flags.json) return printJson(host, { deleted: webhookId });
  host.stdout.write(`The webhook ${webhookId} is deleted.\n`);
}

export async function listDeliveries(
  webhookId: string,
  { state: given, limit = 50, ...flags }: ClientFlags & { readonly state?: string; readonly limit?: number },
  host: NodeJS.Process,
): Promise<void> {
  const state = webhookDeliveryStates.find((one) => one === given);
  if (given !== undefined && state === undefined)
    throw new Error(`The state "${given}" does not exist. Use ${webhookDeliveryStates.join(', ')}.`);
  const client = await connect(webhookRoutes, flags, host);
  const query = { limit, ...(state !== undefined && { state }) };
  const { deliveries } = await client.listWebhookDeliveries({ params: { webhookId }, query });
  if (flags.json) return printJson(host, deliveries);
  const rows = deliveries.map(({ position, state: shown, attempts, recordId, attemptedAt = '', problem = '' }) => [
    position,
    shown,
    counted(attempts, 'attempt'),
    recordId,
    attemptedAt,
    problem,
  ]);
  for (const line of columns(rows)) host.stdout.write(`${line}\n`);
}

export async function retryDelivery(
  webhookId: string,
  position: string,
  flags: ClientFlags,
  host: NodeJS.Process,
): Promise<void> {
  await (await connect(webhookRoutes, flags, host)).retryWebhookDelivery({ params: { webhookId, position } });
  if (flags.json) return printJson(host, { retried: position });
  host.stdout.write(`The change ${position} is sent again.\n`);
}

function eventsOf(given: readonly string[] | undefined): { readonly events?: RecordWebhook['events'] } {
  if (given === undefined) return {};
  const events = given.map((text) => {
    const kind = recordChangeKinds.find((one) => one === text);
    if (kind === undefined)
      throw new Error(`The kind of change "${text}" does not exist. Use ${recordChangeKinds.join(', ')}.`);
    return kind;
  });
  return { events };
}

/** The secret alone is on standard output, for scripts. */
function printSecret(
  host: NodeJS.Process,
  { json }: ClientFlags,
  webhook: RecordWebhook & { readonly secret: string },
  about: string,
): void {
  if (json) return printJson(host, webhook);
  host.stdout.write(`${webhook.secret}\n`);
  host.stderr.write(`The secret is shown only once. ${about}\n`);
}
