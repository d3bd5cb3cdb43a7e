import { Database } from '@drover/database';
import { Secret, systemClock, systemRandomness } from '@drover/service-kit';
import { DesiredStateStore } from '../../desired-state/desired-state-store.js';
import { Leadership } from '../leadership.js';

/**
 * A scale controller that only leads, as a process of its own, for tests that kill or pause it. While it believes to lead it keeps
 * writing under its token, and once more with its old token when it notices that it does not. Prints one JSON line per event.
 */
export interface LeaderProcessSettings {
  readonly url: string;
  readonly holderId: string;
  readonly ttlMs: number;
}

// Written by the test that starts this process.
const { url, holderId, ttlMs } = JSON.parse(process.argv[2] ?? '{}') as LeaderProcessSettings;
const say = (line: object): void => void process.stdout.write(`${JSON.stringify(line)}\n`);
const io = { clock: systemClock, randomness: systemRandomness, observe: () => undefined };
const database = new Database({ url: new Secret(url), applicationName: holderId, poolSize: 2, ...io });
const store = new DesiredStateStore(database);
const nothing = { droppedWorkers: [], applications: [], droppedApplications: [], decisions: [], workers: [] };

async function write(token: number): Promise<void> {
  const applications = [{ application: holderId, desired: token, runtimeId: undefined }];
  await store.write(token, { ...nothing, applications }).then(
    () => say({ event: 'written', token }),
    (error: { code?: string }) => say({ event: 'refused', token, code: error.code }),
  );
}

const leadership = new Leadership({
  database,
  holderId,
  ttlMs,
  onElected: (term) => {
    say({ event: 'elected', token: term.token });
    void write(term.token);
  },
  onDeposed: (reason) => {
    say({ event: 'deposed', reason });
    void write(leadership.token);
  },
  ...io,
});
process.once('disconnect', () => process.exit());
await database.start();
await leadership.start();
