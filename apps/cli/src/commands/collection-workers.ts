import {
  assignmentStatuses,
  collectionWorkerRoutes,
  type CollectionAssignmentView,
  type CollectionWorkerView,
} from '@drover/contracts';
import type { ClientFlags } from '../flags.js';
import { columns, counted } from '../output/application-lines.js';
import { printJson } from '../output/print-json.js';
import { connect } from './connect.js';

export async function listWorkers(flags: ClientFlags, host: NodeJS.Process): Promise<void> {
  const { workers } = await (await connect(collectionWorkerRoutes, flags, host)).listWorkers();
  if (flags.json) return printJson(host, workers);
  for (const line of columns(workers.map(workerCells))) host.stdout.write(`${line}\n`);
}

export async function showWorker(workerId: string, flags: ClientFlags, host: NodeJS.Process): Promise<void> {
  const client = await connect(collectionWorkerRoutes, flags, host);
  const params = { workerId };
  const [worker, { assignments }] = await Promise.all([
    client.getWorker({ params }),
    client.listWorkerAssignments({ params }),
  ]);
  if (flags.json) return printJson(host, { ...worker, assignments });
  const lines = [
    ...columns([workerCells(worker)]),
    ...aboutWorker(worker).map((text) => `  ${text}`),
    ...columns(assignments.map(assignmentCells)).map((line) => `  ${line}`),
  ];
  for (const line of lines) host.stdout.write(`${line}\n`);
}

export async function drainWorker(workerId: string, flags: ClientFlags, host: NodeJS.Process): Promise<void> {
  const client = await connect(collectionWorkerRoutes, flags, host);
  const worker = await client.drainWorker({ params: { workerId } });
  if (flags.json) return printJson(host, worker);
  const left = counted(worker.currentLoad, 'collection');
  host.stdout.write(
    `The worker ${workerId} is ${worker.status}. It serves ${left} until other workers do; then it may be stopped.\n`,
  );
}

export async function listAssignments(
  { collection, status: given, ...flags }: ClientFlags & { readonly collection?: string; readonly status?: string },
  host: NodeJS.Process,
): Promise<void> {
  const status = assignmentStatuses.find((one) => one === given?.toUpperCase());
  if (given !== undefined && status === undefined)
    throw new Error(`The status "${given}" does not exist. Use ${assignmentStatuses.join(', ')}.`);
  const query = { ...(collection !== undefined && { collection }), ...(status !== undefined && { status }) };
  const { assignments } = await (await connect(collectionWorkerRoutes, flags, host)).listAssignments({ query });
  if (flags.json) return printJson(host, assignments);
  for (const line of columns(assignments.map(assignmentCells))) host.stdout.write(`${line}\n`);
}

export async function assignCollection(
  collection: string,
  workerId: string,
  flags: ClientFlags,
  host: NodeJS.Process,
): Promise<void> {
  const client = await connect(collectionWorkerRoutes, flags, host);
  const assignment = await client.assignCollection({ body: { collection, workerId } });
  if (flags.json) return printJson(host, assignment);
  host.stdout.write(`The collection ${collection} is ${assignment.status} on ${workerId}, and stays there.\n`);
}

export async function unassignCollection(
  collection: string,
  workerId: string,
  flags: ClientFlags,
  host: NodeJS.Process,
): Promise<void> {
  const client = await connect(collectionWorkerRoutes, flags, host);
  await client.unassignCollection({ body: { collection, workerId } });
  if (flags.json) return printJson(host, { collection, workerId });
  host.stdout.write(`The collection ${collection} leaves ${workerId} when another worker serves it.\n`);
}

function workerCells(worker: CollectionWorkerView): readonly string[] {
  const { id, status, isOverloaded, pool, currentLoad, capacity, heartbeat, lastHeartbeat = '', baseUrl } = worker;
  return [
    id,
    isOverloaded ? `${status}, OVERLOADED` : status,
    pool,
    `${currentLoad} of ${counted(capacity, 'collection')}`,
    heartbeat ? `${heartbeat.requestRate.toFixed(1)} requests/s` : '',
    lastHeartbeat,
    baseUrl,
  ];
}

function aboutWorker({ podName, namespace, tenantAffinity, zone, heartbeat }: CollectionWorkerView): string[] {
  const place = [
    podName === undefined ? '' : `pod ${namespace === undefined ? '' : `${namespace}/`}${podName}`,
    zone === undefined ? '' : `zone ${zone}`,
    tenantAffinity === undefined ? '' : `only for tenant ${tenantAffinity}`,
  ].filter((text) => text !== '');
  const load = heartbeat && [
    `CPU ${Math.round(heartbeat.cpu)} ms/s`,
    `${heartbeat.latencyMs.toFixed(1)} ms per request`,
    `${(100 * heartbeat.errorRate).toFixed(1)} % errors`,
    `${Math.round(heartbeat.memoryBytes / 1_048_576)} MiB`,
  ];
  return [place, load ?? []].filter((texts) => texts.length > 0).map((texts) => texts.join(', '));
}

function assignmentCells(assignment: CollectionAssignmentView): readonly string[] {
  const { collection, workerId, status, manual, replaces, assignedAt, problem = '' } = assignment;
  const why = manual ? 'by hand' : replaces === undefined ? '' : `takes over from ${replaces}`;
  return [collection, workerId, status, assignedAt, why, problem];
}
