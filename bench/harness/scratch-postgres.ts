import { chmod } from 'node:fs/promises';
import { startScratchPostgres } from '@drover/database/testing';
import type { Secret } from '@drover/service-kit';
import { withScratchDirectory } from '@drover/testkit';

/** A scratch directory that the database server's user can reach, also when we are root. */
export function withOpenDirectory<T>(use: (directory: string) => Promise<T>): Promise<T> {
  return withScratchDirectory(async (directory) => {
    await chmod(directory, 0o711);
    return use(directory);
  });
}

/** A server of its own for `use`; gone afterwards. */
export async function withScratchPostgres<T>(use: (url: Secret) => Promise<T>): Promise<T> {
  const { server, stop } = await startScratchPostgres();
  try {
    return await use(server.url);
  } finally {
    await stop();
  }
}
