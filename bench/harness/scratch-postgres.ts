import { startScratchPostgres } from '@drover/database/testing';
import type { Secret } from '@drover/service-kit';

/** A server of its own for `use`; gone afterwards. */
export async function withScratchPostgres<T>(use: (url: Secret) => Promise<T>): Promise<T> {
  const { server, stop } = await startScratchPostgres();
  try {
    return await use(server.url);
  } finally {
    await stop();
  }
}
