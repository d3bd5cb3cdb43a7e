import { startScratchPostgres, testServerVariable, volatileSettings } from '@drover/database/testing';

/** Starts one server for all tests that share one; each test makes its own database on it. Tests that kill a server start their own. */
export default async function startPostgres(): Promise<() => Promise<void>> {
  if (process.env[testServerVariable]) return () => Promise.resolve();
  const { server, stop } = await startScratchPostgres(volatileSettings);
  process.env[testServerVariable] = server.url.reveal();
  return async () => {
    // A second run of this process starts its own.
    Reflect.deleteProperty(process.env, testServerVariable);
    await stop();
  };
}
