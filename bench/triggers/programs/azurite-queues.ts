import { createRequire } from 'node:module';
import { ownCpuMs } from '../../harness/process-facts.js';
import { serveRequests } from '../../harness/program.js';

export interface AzuriteRequest {
  readonly port: number;
}

export interface AzuriteAnswer {
  /** CPU time of the process so far. */
  readonly cpuMs: number;
}

let started: Promise<void> | undefined;

/** The queue service of Azurite, in memory. */
async function start(port: number): Promise<void> {
  const flags = ['--inMemoryPersistence', '--silent', '--disableTelemetry', '--skipApiVersionCheck'];
  process.argv.splice(2, Infinity, ...flags, '--queuePort', String(port));
  createRequire(import.meta.url)('azurite/dist/src/queue/main.js');
  // It has no call that tells when it listens.
  for (let attempt = 0; attempt < 200; attempt += 1) {
    const answers = await fetch(`http://127.0.0.1:${port}/`).then(
      () => true,
      () => false,
    );
    if (answers) return;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  throw new Error('Azurite did not start');
}

serveRequests<AzuriteRequest>(async ({ port }): Promise<AzuriteAnswer> => {
  started ??= start(port);
  await started;
  return { cpuMs: ownCpuMs() };
});
