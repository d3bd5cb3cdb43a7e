import { spawn } from 'node:child_process';
import { chown, mkdir, readdir, rename, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import type { Leash, Randomness } from '@drover/service-kit';
import { readIfThere, syncDirectory } from './durable-files.js';
import { binariesUnusable, clusterNotCreated, diskFull, noServerUser, otherVersion } from './errors.js';
import { onFiles } from './file-faults.js';
import type { Place } from './place.js';
import { signalProcess } from './processes.js';
import { spawnAs } from './server-user.js';
import { serverEnvironment } from './settings.js';

/** The bootstrap user and the database that everything of ours uses. */
export const databaseUser = 'drover';

const draftPrefix = 'cluster.new-';

export interface CreateClusterOptions {
  readonly place: Place;
  /** Holds bin/initdb. */
  readonly binaries: string;
  readonly password: string;
  readonly leash: Leash;
  readonly randomness: Randomness;
  readonly signal: AbortSignal;
}

/** Makes the cluster beside its final place and renames it there: a cluster that exists is a whole one, and on disk. */
export async function createCluster(options: CreateClusterOptions): Promise<void> {
  const { place, randomness, password } = options;
  const draft = path.join(place.home, `${draftPrefix}${randomness.bytes(6).toString('hex')}`);
  const passwordFile = `${draft}.password`;
  try {
    await onFiles(place.home, async () => {
      await mkdir(draft, { mode: 0o700 });
      await writeFile(passwordFile, `${password}\n`, { mode: 0o600 });
      if (place.user) for (const file of [draft, passwordFile]) await chown(file, place.user.uid, place.user.gid);
    });
    const { code, output } = await runInitdb(draft, passwordFile, options);
    options.signal.throwIfAborted();
    if (code !== 0) throw explainInitdb(options, output);
    await onFiles(place.home, async () => {
      await rename(draft, place.cluster);
      await syncDirectory(place.home);
    });
  } finally {
    await removeDrafts(place);
  }
}

/** Removes what a killed initdb left. */
export async function removeDrafts(place: Place): Promise<void> {
  const drafts = (await readdir(place.home)).filter((name) => name.startsWith(draftPrefix));
  // An initdb whose owner and leash were both killed may still be writing, hence the retries.
  const options = { recursive: true, force: true, maxRetries: 10, retryDelay: 50 };
  await Promise.all(drafts.map((name) => rm(path.join(place.home, name), options)));
}

/** Refuses a cluster that another major version made. */
export async function checkVersion(place: Place, major: number): Promise<void> {
  const found = await readIfThere(path.join(place.cluster, 'PG_VERSION'));
  if (found !== String(major)) {
    throw otherVersion({ cluster: place.cluster, found: found ?? 'an unknown version', needed: major });
  }
}

function runInitdb(
  draft: string,
  passwordFile: string,
  { binaries, place, leash, signal }: CreateClusterOptions,
): Promise<{ readonly code: number | null; readonly output: string }> {
  const access = [`--username=${databaseUser}`, `--pwfile=${passwordFile}`, '--auth=scram-sha-256'];
  // Compares by code point everywhere, knows upper and lower case, and needs no locale of the system.
  const text = ['--encoding=UTF8', '--locale=C', '--locale-provider=builtin', '--builtin-locale=C.UTF-8'];
  const args = [`--pgdata=${draft}`, ...access, ...text, '--data-checksums', '--no-instructions'];
  const child = spawn(path.join(binaries, 'bin', 'initdb'), args, {
    ...spawnAs(place.user),
    stdio: ['ignore', 'pipe', 'pipe'],
    detached: true,
    cwd: '/', // ours may be closed to the server's user
    env: serverEnvironment,
  });
  const release = child.pid === undefined ? undefined : leash.hold(child.pid, { signal: 'SIGTERM', graceMs: 1000 });
  const giveUp = (): void => {
    if (child.pid !== undefined) signalProcess(-child.pid, 'SIGKILL');
  };
  signal.addEventListener('abort', giveUp, { once: true });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => (output += String(chunk)));
  return new Promise<{ code: number | null; output: string }>((resolve, reject) => {
    child.once('error', (cause) => reject(binariesUnusable({ path: binaries, reason: cause.message }, cause)));
    child.once('close', (code) => resolve({ code, output }));
    if (signal.aborted) giveUp();
  }).finally(() => {
    signal.removeEventListener('abort', giveUp);
    release?.();
  });
}

function explainInitdb({ place, binaries }: CreateClusterOptions, output: string): Error {
  if (output.includes('No space left on device')) return diskFull({ path: place.home });
  const [, id] = /could not look up effective user ID (\d+)/.exec(output) ?? [];
  if (id !== undefined) return noServerUser({ reason: `the user id ${id} is not in /etc/passwd` });
  if (output.includes('error while loading shared libraries')) {
    return binariesUnusable({ path: binaries, reason: output.trim() });
  }
  return clusterNotCreated({ cluster: place.cluster, output: output.trim().split('\n').slice(-12).join('\n') });
}
