import { startScratchPostgres, testServerVariable } from '@drover/database/testing';

/** One real server for all tests that need one; each test makes its own database on it. */
export default async function startPostgres(): Promise<() => Promise<void>> {
  if (process.env[testServerVariable]) return () => Promise.resolve();
  const { server, stop } = await startScratchPostgres();
  process.env[testServerVariable] = server.url.reveal();
  return stop;
}
