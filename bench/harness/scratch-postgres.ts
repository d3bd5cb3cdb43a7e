import { chmod } from 'node:fs/promises';
import path from 'node:path';
import { EmbeddedPostgres } from '@drover/database';
import { systemClock, systemRandomness, type Leash, type Secret } from '@drover/service-kit';
import { withScratchDirectory } from '@drover/testkit';

/** A scratch directory that the database server's user can reach, also when we are root. */
export function withOpenDirectory<T>(use: (directory: string) => Promise<T>): Promise<T> {
  return withScratchDirectory(async (directory) => {
    await chmod(directory, 0o711);
    return use(directory);
  });
}

/** A new server with the settings that `drover up` gives it, fsync among them; gone afterwards. */
export function withScratchPostgres<T>(leash: Leash, use: (url: Secret) => Promise<T>): Promise<T> {
  return withOpenDirectory(async (directory) => {
    const server = new EmbeddedPostgres({
      directory: path.join(directory, 'postgres'),
      leash,
      clock: systemClock,
      randomness: systemRandomness,
      observe: () => undefined,
    });
    await server.start(new AbortController().signal);
    try {
      return await use(server.url);
    } finally {
      await server.stop();
    }
  });
}
