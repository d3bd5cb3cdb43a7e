import { readFileSync } from 'node:fs';
import { cp, mkdir, readFile, symlink } from 'node:fs/promises';
import path from 'node:path';
import { packFolder } from '@drover/application-catalog';
import {
  applicationRoutes,
  createClient,
  scalingRoutes,
  type Client,
  type NewApplicationVersion,
  type ScalingView,
} from '@drover/contracts';
import { eventually, withScratchDirectory } from '@drover/testkit';
import { root } from '../architecture/workspace.js';
import { app } from './functions.js';
import type { ReadyLine } from './platform.js';

const routes = { ...applicationRoutes, ...scalingRoutes };
export type AppsClient = Client<typeof routes>;

export async function appsClient({ credentialsFile }: ReadyLine): Promise<AppsClient> {
  const { url, apiKey } = JSON.parse(await readFile(credentialsFile, 'utf8')) as { url: string; apiKey: string };
  return createClient(routes, { url, apiKey });
}

let packed: Promise<Buffer<ArrayBuffer>> | undefined;

/** The app `scaled`, with the packages that it needs, as a zip. */
function packScaled(): Promise<Buffer<ArrayBuffer>> {
  const pack = async (): Promise<Buffer<ArrayBuffer>> => {
    let zip: Buffer<ArrayBuffer> | undefined;
    await withScratchDirectory(async (directory) => {
      await cp(app('scaled'), directory, { recursive: true });
      await mkdir(path.join(directory, 'node_modules/@azure'), { recursive: true });
      for (const name of ['@azure/functions', '@azure/functions-extensions-base', 'cookie'])
        await symlink(path.join(root, 'node_modules', name), path.join(directory, 'node_modules', name));
      zip = await packFolder(directory);
    });
    if (!zip) throw new Error('the app was not packed');
    return zip;
  };
  return (packed ??= pack());
}

/** Uploads and deploys the app `scaled`, whose functions write a ledger and tell their version. */
export async function deployScaled(
  client: AppsClient,
  settings: Readonly<Record<string, string>>,
  { scaling = {}, trafficPercent = 100 }: Pick<NewApplicationVersion, 'scaling' | 'trafficPercent'> = {},
): Promise<string> {
  const params = { app: 'scaled' };
  const { payload } = await client.uploadPayload({ params, upload: await packScaled() });
  const body = { payload, settings, scaling, trafficPercent };
  const { version } = await client.deployApplication({ params, body });
  return version.version;
}

export function scalingOf(client: AppsClient): Promise<ScalingView> {
  return client.getScaling({ params: { app: 'scaled' } });
}

/** Waits until the application has no worker at all. */
export async function untilAtZero(client: AppsClient, withinMs = 120_000): Promise<void> {
  await eventually(async () => {
    const { workers } = await scalingOf(client);
    return workers.desired === 0 && workers.ready + workers.starting + workers.draining === 0;
  }, withinMs);
}

/** What the function has written, one entry for each run. */
export function ledgerOf(file: string): { readonly n: number; readonly pid: number }[] {
  return readFileSync(file, { encoding: 'utf8', flag: 'a+' })
    .split('\n')
    .flatMap((line) => (line.endsWith('}') ? [JSON.parse(line) as { n: number; pid: number }] : []));
}

/** Numbers from 0 that are not in the ledger. */
export function missingIn(file: string, count: number): number[] {
  const ran = new Set(ledgerOf(file).map(({ n }) => n));
  return Array.from({ length: count }, (_, n) => n).filter((n) => !ran.has(n));
}
