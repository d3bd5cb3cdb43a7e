import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { Leash, systemClock, systemRandomness } from '@drover/service-kit';
import { EmbeddedPostgres } from '../embedded/index.js';

/** A new server with the settings that `drover up` gives it, fsync among them, in a directory that `stop` removes. */
export async function startScratchPostgres(): Promise<{
  readonly server: EmbeddedPostgres;
  readonly stop: () => Promise<void>;
}> {
  const directory = await mkdtemp(path.join(tmpdir(), 'drover-postgres-'));
  // Started as root, the server runs as somebody else, who has to get there.
  await chmod(directory, 0o711);
  const leash = new Leash();
  const server = new EmbeddedPostgres({
    directory: path.join(directory, 'postgres'),
    leash,
    clock: systemClock,
    randomness: systemRandomness,
    observe: () => undefined,
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
