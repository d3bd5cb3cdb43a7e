import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';

/** Long enough for a database server that is still stopping to leave its directory. */
const removal = { recursive: true, force: true, maxRetries: 20, retryDelay: 100 } as const;

/**
 * Gives `use` an empty directory that the database server's user can reach, also when we are root, and removes it afterwards.
 * A directory that cannot be removed is named on standard error and stays: it fails no run.
 */
export async function withOpenDirectory<T>(use: (directory: string) => Promise<T>): Promise<T> {
  const directory = await mkdtemp(path.join(tmpdir(), 'drover-bench-'));
  try {
    await chmod(directory, 0o711);
    return await use(directory);
  } finally {
    await rm(directory, removal).catch((error: unknown) => {
      process.stderr.write(`${directory} could not be removed, remove it by hand: ${String(error)}\n`);
    });
  }
}
