import { createRequire } from 'node:module';
import { serveRequests } from '../../harness/program.js';

export interface AzuriteRequest {
  readonly port: number;
}

/** The queue service of Azurite, in memory. */
serveRequests<AzuriteRequest>(async ({ port }) => {
  process.argv.splice(
    2,
    Infinity,
    '--inMemoryPersistence',
    '--silent',
    '--disableTelemetry',
    '--skipApiVersionCheck',
    '--queuePort',
    String(port),
  );
  createRequire(import.meta.url)('azurite/dist/src/queue/main.js');
  // It has no call that tells when it listens.
  for (let attempt = 0; attempt < 200; attempt += 1) {
    const answers = await fetch(`http://127.0.0.1:${port}/`).then(
      () => true,
      () => false,
    );
    if (answers) return {};
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  throw new Error('Azurite did not start');
});
