import { Leash, systemClock, systemRandomness } from '@drover/service-kit';
import { EmbeddedPostgres } from '../embedded-postgres.js';

/**
 * A process that owns an embedded PostgreSQL, for tests that kill it or run it as another user. Takes the directory and
 * a JSON object of settings; prints one JSON line an observation and, once ready, its pids and URL; SIGTERM stops it.
 */
const [directory = '', settings = '{}'] = process.argv.slice(2);
const say = (line: object): void => void process.stdout.write(`${JSON.stringify(line)}\n`);

const leash = new Leash();
const postgres = new EmbeddedPostgres({
  directory,
  leash,
  clock: systemClock,
  randomness: systemRandomness,
  observe: say,
  settings: JSON.parse(settings) as Record<string, string>, // the test that starts us wrote it
});
const stopping = new AbortController();
process.once('SIGTERM', () => {
  stopping.abort();
  void postgres.stop().then(() => leash.stop());
});
try {
  await postgres.start(stopping.signal);
  say({ ready: true, postmaster: postgres.pid, leash: leash.pid, url: postgres.url.reveal() });
} catch (error) {
  const code = error instanceof Error && 'code' in error ? error.code : undefined;
  say({ failed: true, code, message: error instanceof Error ? error.message : String(error) });
  await leash.stop();
  process.exitCode = 1;
}
