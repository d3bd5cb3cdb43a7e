import { spawn } from 'node:child_process';
import { chown, mkdir, readdir, rename, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import type { Leash, Randomness } from '@drover/service-kit';
import { readIfExists, syncDirectory } from './durable-files.js';
import { binariesUnusable, clusterNotCreated, diskFull, noServerUser, otherVersion } from './errors.js';
import { onFiles } from './file-faults.js';
import type { ClusterLocation } from './cluster-location.js';
import { signalProcess } from './processes.js';
import { spawnAs } from './server-user.js';
import { serverEnvironment } from './settings.js';

/** Name of the bootstrap user and of the database that all of Drover uses. */
export const databaseUser = 'drover';

const draftPrefix = 'cluster.new-';

export interface CreateClusterOptions {
  readonly location: ClusterLocation;
  /** Directory with bin/initdb. */
  readonly binaries: string;
  readonly password: string;
  readonly leash: Leash;
  readonly randomness: Randomness;
  readonly signal: AbortSignal;
}

/** Creates the cluster next to its final path and renames it: a cluster that exists is complete and on disk. */
export async function createCluster(options: CreateClusterOptions): Promise<void> {
  const { location, randomness, password } = options;
  const draft = path.join(location.base, `${draftPrefix}${randomness.bytes(6).toString('hex')}`);
  const passwordFile = `${draft}.password`;
  try {
    await onFiles(location.base, async () => {
      await mkdir(draft, { mode: 0o700 });
      await writeFile(passwordFile, `${password}\n`, { mode: 0o600 });
      if (location.user)
        for (const file of [draft, passwordFile]) await chown(file, location.user.uid, location.user.gid);
    });
    const { code, output } = await runInitdb(draft, passwordFile, options);
    options.signal.throwIfAborted();
    if (code !== 0) throw explainInitdb(options, output);
    await onFiles(location.base, async () => {
      await rename(draft, location.cluster);
      await syncDirectory(location.base);
    });
  } finally {
    await removeDrafts(location);
  }
}

/** Removes the incomplete clusters of initdb runs that were killed. */
export async function removeDrafts(location: ClusterLocation): Promise<void> {
  const drafts = (await readdir(location.base)).filter((name) => name.startsWith(draftPrefix));
  // An initdb whose parent and leash were both killed may still be writing, hence the retries.
  const options = { recursive: true, force: true, maxRetries: 10, retryDelay: 50 };
  await Promise.all(drafts.map((name) => rm(path.join(location.base, name), options)));
}

/** Throws if another major version created the cluster. */
export async function checkVersion(location: ClusterLocation, major: number): Promise<void> {
  const found = await readIfExists(path.join(location.cluster, 'PG_VERSION'));
  if (found !== String(major)) {
    throw otherVersion({ cluster: location.cluster, found: found ?? 'an unknown version', needed: major });
  }
}

function runInitdb(
  draft: string,
  passwordFile: string,
  { binaries, location, leash, signal }: CreateClusterOptions,
): Promise<{ readonly code: number | null; readonly output: string }> {
  const access = [`--username=${databaseUser}`, `--pwfile=${passwordFile}`, '--auth=scram-sha-256'];
  // Sorts by code point on every system, knows upper and lower case, and needs no system locale.
  const text = ['--encoding=UTF8', '--locale=C', '--locale-provider=builtin', '--builtin-locale=C.UTF-8'];
  const args = [`--pgdata=${draft}`, ...access, ...text, '--data-checksums', '--no-instructions'];
  const child = spawn(path.join(binaries, 'bin', 'initdb'), args, {
    ...spawnAs(location.user),
    stdio: ['ignore', 'pipe', 'pipe'],
    detached: true,
    cwd: '/', // the current directory may not be accessible to the server's user
    env: serverEnvironment,
  });
  const release = child.pid === undefined ? undefined : leash.hold(child.pid, { signal: 'SIGTERM', graceMs: 1000 });
  const kill = (): void => {
    if (child.pid !== undefined) signalProcess(-child.pid, 'SIGKILL');
  };
  signal.addEventListener('abort', kill, { once: true });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => (output += String(chunk)));
  return new Promise<{ code: number | null; output: string }>((resolve, reject) => {
    child.once('error', (cause) => reject(binariesUnusable({ path: binaries, reason: cause.message }, cause)));
    child.once('close', (code) => resolve({ code, output }));
    if (signal.aborted) kill();
  }).finally(() => {
    signal.removeEventListener('abort', kill);
    release?.();
  });
}

function explainInitdb({ location, binaries }: CreateClusterOptions, output: string): Error {
  if (output.includes('No space left on device')) return diskFull({ path: location.base });
  const [, id] = /could not look up effective user ID (\d+)/.exec(output) ?? [];
  if (id !== undefined) return noServerUser({ reason: `the user id ${id} is not in /etc/passwd` });
  if (output.includes('error while loading shared libraries')) {
    return binariesUnusable({ path: binaries, reason: output.trim() });
  }
  return clusterNotCreated({ cluster: location.cluster, output: output.trim().split('\n').slice(-12).join('\n') });
}
