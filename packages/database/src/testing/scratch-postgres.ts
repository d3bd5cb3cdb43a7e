import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { Leash, systemClock, systemRandomness } from '@drover/service-kit';
import { EmbeddedPostgres } from '../embedded/index.js';

/** For a server that no test kills: nothing has to survive a crash of the machine, and CREATE DATABASE gets cheaper. */
export const volatileSettings = { fsync: 'off', full_page_writes: 'off' } as const;

/** Starts a server with the settings of `drover up` and those given on top, in a directory that `stop` removes. */
export async function startScratchPostgres(settings: Readonly<Record<string, string>> = {}): Promise<{
  readonly server: EmbeddedPostgres;
  readonly stop: () => Promise<void>;
}> {
  const directory = await mkdtemp(path.join(tmpdir(), 'drover-postgres-'));
  // As root, the server runs as another user, which must be able to reach its data directory.
  await chmod(directory, 0o711);
  const leash = new Leash();
  const server = new EmbeddedPostgres({
    directory: path.join(directory, 'postgres'),
    leash,
    clock: systemClock,
    randomness: systemRandomness,
    observe: () => undefined,
    settings,
  });
  const stop = async (): Promise<void> => {
    await server.stop();
    await leash.stop();
    await rm(directory, { recursive: true, force: true });
  };
  try {
    await server.start(new AbortController().signal);
  } catch (error) {
    await stop();
    throw error;
  }
  return { server, stop };
}
