import { BlobServiceClient } from '@azure/storage-blob';
import { eventually } from '@drover/testkit';
import { startAzurite, type Azurite } from '@drover/trigger-sources/testing';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { app, startRuntime, type Runtime } from '../support/functions.js';

describe('two runtimes with a blob trigger, one of them killed', () => {
  let azurite: Azurite;
  let blobs: BlobServiceClient;
  const runtimes: Runtime[] = [];
  const start = async (): Promise<Runtime> => {
    const { connectionString } = azurite;
    const runtime = await startRuntime({
      apps: [app('storage')],
      env: { AzureWebJobsStorage: connectionString, Shop: connectionString },
    });
    runtimes.push(runtime);
    return runtime;
  };

  beforeAll(async () => {
    azurite = await startAzurite('all', ['--skipApiVersionCheck']); // the SDK of this test is newer
    blobs = BlobServiceClient.fromConnectionString(azurite.connectionString);
    await blobs.createContainer('slow');
  });
  afterAll(async () => {
    await Promise.all(runtimes.map((runtime) => runtime.child.end()));
    await azurite.stop();
  });

  const names = Array.from({ length: 60 }, (_, n) => `blob-${String(n).padStart(2, '0')}`);
  const lines = (text: string): string[] =>
    runtimes.flatMap(({ log }) => log.flatMap(({ msg }) => (msg.startsWith(text) ? [msg.slice(text.length)] : [])));

  it('run every blob, repeat only what the killed one had begun, count that, and do nothing again after a restart', async () => {
    const [victim, other] = [await start(), await start()];
    const container = blobs.getContainerClient('slow');
    await Promise.all(names.map((name) => container.getBlockBlobClient(name).upload(name, name.length)));
    const ended = 'slowly ended ';
    const endedBy = (runtime: Runtime) => runtime.log.filter(({ msg }) => msg.startsWith(ended)).length;
    await eventually(() => endedBy(victim) > 3 && endedBy(other) > 3);
    const killedWorkers = victim.workers;
    victim.child.kill('SIGKILL');
    await victim.child.exited;
    await eventually(() => killedWorkers.every((pid) => !victim.workers.includes(pid)));
    await eventually(() => expect([...new Set(lines(ended))].toSorted()).toEqual(names), 90_000);
    const begun = lines('slowly began ');
    const repeats = begun.length - new Set(begun).size;
    const redelivered = other.log.filter(({ kind }) => kind === 'blob.redelivered').length;
    expect(repeats).toBeLessThanOrEqual(redelivered);
    await other.stop();
    runtimes.splice(runtimes.indexOf(other), 1);
    const again = await start();
    await container.getBlockBlobClient('last').upload('last', 4);
    await eventually(() => expect(lines(ended)).toContain('last'));
    expect(again.log.filter(({ msg }) => msg.startsWith('slowly began ')).map(({ msg }) => msg)).toEqual([
      'slowly began last',
    ]);
  });
});
