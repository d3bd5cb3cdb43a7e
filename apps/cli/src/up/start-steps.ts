import { existsSync } from 'node:fs';
import { readFile, rm } from 'node:fs/promises';
import path from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { newApiKey } from '@drover/collection-engine';
import type { RuntimeKeys } from '@drover/contracts';
import { controlPlaneErrors } from '@drover/control-plane';
import { applicationIdOf, type SupervisedEmulators } from '@drover/runtime';
import { makeDirectories, step, type Lifecycle, type Randomness, type SupervisedProcess } from '@drover/service-kit';
import type { LaterCollectionWorkers } from './collection-workers.js';
import type { UpConfig } from './config.js';
import type { CredentialsFile } from './credentials.js';
import type { DataDirectory } from './data-directory.js';
import type { DatabaseServer } from './database-server.js';
import { getText } from './get-text.js';
import { tryPort } from './port-check.js';
import { applicationName, fetchRuntimeKeys, servedFunctions, type ServedFunction } from './served-functions.js';

/** What is running, for the user or program that started it. */
export interface UpReport {
  readonly urls: Readonly<Record<string, string>>;
  readonly pids: Readonly<Record<string, number>>;
  readonly credentialsFile: string;
  /** Names of the applications that were to be served. */
  readonly applications: readonly string[];
  readonly functions: readonly ServedFunction[];
  /** Page of the emulators; absent if no application needs any. */
  readonly emulatorsPage?: string;
  /** Applications of which no call is served, each with the reason. */
  readonly problems: readonly { readonly application: string; readonly problem: string }[];
}

/** Fails at once if the public port is in use: the platform process would only find out after the database was created. */
export function checkPublicPort(config: UpConfig): Lifecycle {
  return step('port', {
    up: async () => {
      if ((await tryPort(config.host, config.port)) === 'EADDRINUSE') throw controlPlaneErrors.portTaken(config);
    },
  });
}

/** Creates the keys of the installation on its first start. */
export function createKeys(directory: DataDirectory, randomness: Randomness): Lifecycle {
  return step('keys', {
    up: async () => {
      for (const file of [directory.functionsMasterKey, directory.secretsKey, directory.scaleLinkToken])
        if (!existsSync(file)) await directory.writePrivately(file, randomness.bytes(32).toString('base64url'));
      if (!existsSync(directory.workerJoinKey))
        await directory.writePrivately(directory.workerJoinKey, newApiKey(randomness).text.reveal());
    },
  });
}

export function writeDatabaseUrl(directory: DataDirectory, database: DatabaseServer): Lifecycle {
  return step('database URL', {
    up: () => directory.writePrivately(directory.databaseUrl, database.url.reveal()),
  });
}

/**
 * Removes the URLs of an earlier start: another program may listen at those of the platform's processes now, and the runtime must
 * not store the state of triggers in a database that is not configured any more.
 */
export function removeStaleUrls(directory: DataDirectory): Lifecycle {
  return step('stale URLs', {
    up: async () => {
      await Promise.all(
        [directory.runtimeUrl, directory.collectionWorkerUrl, directory.controlPlaneUrl, directory.databaseUrl].map(
          (file) => rm(file, { force: true }),
        ),
      );
    },
  });
}

/** Connections to the sockets that killed workers have left would be refused. */
export function clearSockets({ sockets }: DataDirectory): Lifecycle {
  return step('sockets', {
    up: async () => {
      if (sockets === undefined) return;
      await rm(sockets, { recursive: true, force: true });
      await makeDirectories(sockets, { mode: 0o700 });
    },
  });
}

export function writeRuntimeUrl(directory: DataDirectory, runtime: SupervisedProcess): Lifecycle {
  return step('runtime URL', {
    up: () => directory.writePrivately(directory.runtimeUrl, runtime.announcement['functions'] ?? ''),
  });
}

export function writeControlPlaneUrl(directory: DataDirectory, platform: SupervisedProcess): Lifecycle {
  return step('control plane URL', {
    up: () => directory.writePrivately(directory.controlPlaneUrl, platform.announcement['public'] ?? ''),
  });
}

export function writeCollectionWorkerUrl(directory: DataDirectory, worker: SupervisedProcess): Lifecycle {
  return step('collection worker URL', {
    up: () => directory.writePrivately(directory.collectionWorkerUrl, worker.announcement['records'] ?? ''),
  });
}

interface ReportOptions {
  readonly config: UpConfig;
  readonly directory: DataDirectory;
  readonly database: DatabaseServer;
  readonly credentials: CredentialsFile;
  readonly platform: SupervisedProcess;
  readonly runtime: SupervisedProcess;
  readonly collectionWorkers: readonly SupervisedProcess[];
  readonly laterWorkers: LaterCollectionWorkers;
  readonly emulators: SupervisedEmulators;
}

/** Completes the credentials file with the public URL, and reports that everything is ready. */
export function reportReady(
  options: ReportOptions,
  report: (report: UpReport, keys: RuntimeKeys | undefined) => void,
): Lifecycle {
  const { config, directory, database, credentials, platform, runtime, collectionWorkers, laterWorkers } = options;
  return step('report', {
    up: async () => {
      const { public: url = '' } = platform.announcement;
      const { functionRpc = '', functionRpcLoopback = '' } = runtime.announcement;
      await credentials.setUrl(url);
      const folders = config.applications.split(path.delimiter).filter(Boolean).map(applicationIdOf);
      const problems = await untilDeployed(url, config.startTimeoutMs);
      const expected = folders.filter((name) => !problems.some(({ application }) => application === name));
      const keys = folders.length > 0 ? await untilHosted(options, expected) : undefined;
      laterWorkers.launch();
      const emulatorsPage = await options.emulators.page(pageWithinMs);
      const ready: UpReport = {
        urls: { public: url, functionRpc, functionRpcLoopback },
        pids: {
          platform: platform.pid ?? 0,
          'runtime-1': runtime.pid ?? 0,
          ...Object.fromEntries(collectionWorkers.map(({ name, pid = 0 }) => [name, pid])),
          ...(database.pid !== undefined && { postgres: database.pid }),
        },
        credentialsFile: directory.credentials,
        applications: folders,
        functions: keys ? servedFunctions(keys, url) : [],
        problems,
        ...(emulatorsPage !== undefined && { emulatorsPage }),
      };
      report(ready, keys);
    },
  });
}

const pollMs = 20;
/** How long the banner waits for the page of emulators that an application has asked for. */
const pageWithinMs = 5_000;
/** How long the runtime may take to hear of an application that is deployed. */
const hostedWithinMs = 10_000;

/**
 * Waits until the platform has found the runtime and has deployed its folders, so that `/readyz` is true once "ready" was reported.
 * Returns the applications that could not be deployed.
 */
async function untilDeployed(url: string, withinMs: number): Promise<UpReport['problems']> {
  const signal = AbortSignal.timeout(withinMs);
  let problems: Readonly<Record<string, string>> = {};
  try {
    for (;;) {
      const { text } = await getText(new URL('/readyz', url), { signal });
      ({ problems } = JSON.parse(text) as { readonly problems: Readonly<Record<string, string>> }); // of this version
      if (problems['runtime'] === undefined && problems['deployments'] === undefined) break;
      await pause(pollMs, undefined, { signal });
    }
  } catch {
    // Too late, or the address cannot be reached from here: `/readyz` becomes true a moment later.
  }
  return Object.entries(problems).flatMap(([name, problem]) =>
    name.startsWith('application ') ? [{ application: name.slice('application '.length), problem }] : [],
  );
}

/** Waits until the runtime serves the applications, and returns what it serves. */
async function untilHosted(options: ReportOptions, expected: readonly string[]): Promise<RuntimeKeys | undefined> {
  const deadlineMs = performance.now() + hostedWithinMs;
  for (;;) {
    const keys = await readKeys(options);
    const served = new Set(keys?.applications.map(({ name }) => applicationName(name)));
    if (expected.every((name) => served.has(name)) || performance.now() > deadlineMs) return keys;
    await pause(pollMs);
  }
}

/** Everything serves already, so a runtime that cannot answer just now only makes the report shorter. */
async function readKeys({ config, directory, runtime }: ReportOptions): Promise<RuntimeKeys | undefined> {
  try {
    const masterKey = config.masterKey?.reveal() ?? (await readFile(directory.functionsMasterKey, 'utf8')).trim();
    return await fetchRuntimeKeys(runtime.announcement['functions'] ?? '', masterKey);
  } catch {
    return undefined;
  }
}
