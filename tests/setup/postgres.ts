import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { EmbeddedPostgres } from '@drover/database';
import { testServerVariable } from '@drover/database/testing';
import { Leash, systemClock, systemRandomness } from '@drover/service-kit';

/** One real server for all tests that need one; each test makes its own database on it. */
export default async function startPostgres(): Promise<() => Promise<void>> {
  if (process.env[testServerVariable]) return () => Promise.resolve();
  const directory = await mkdtemp(path.join(tmpdir(), 'drover-test-postgres-'));
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
  await server.start(new AbortController().signal);
  process.env[testServerVariable] = server.url.reveal();
  return async () => {
    await server.stop();
    await leash.stop();
    await rm(directory, { recursive: true, force: true });
  };
}
