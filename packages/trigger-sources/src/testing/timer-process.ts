import { Secret, systemClock, systemRandomness } from '@drover/service-kit';
import { openPostgresStore } from '../store/postgres-trigger-store.js';
import { TimerListener } from '../timer/timer-listener.js';
import { timerOptions } from '../timer/timer-options.js';
import type { Settlement } from '../trigger-source.js';

/** Argument of the process, as JSON. */
export interface TimerAssignment {
  readonly databaseUrl: string;
  readonly key: string;
  readonly binding: object;
  readonly leaseMs: number;
  /** Whether runs end. */
  readonly settles: 'nothing' | 'everything';
}

process.once('disconnect', () => process.exit());
const { databaseUrl, key, binding, leaseMs, settles } = JSON.parse(process.argv[2] ?? '') as TimerAssignment; // from a test

const { store } = await openPostgresStore({
  url: new Secret(databaseUrl),
  release: 'test',
  clock: systemClock,
  randomness: systemRandomness,
});
const functionName = 'tick';
const listener = new TimerListener({
  functionName,
  options: timerOptions({ functionName, binding, settings: { TZ: 'UTC' }, now: Date.now() }),
  store,
  key,
  leaseMs,
  deliver: ({ data }) => {
    process.stdout.write(`ran ${String(data)}\n`);
    return settles === 'everything' ? Promise.resolve({ kind: 'complete' }) : new Promise<Settlement>(() => undefined);
  },
  clock: systemClock,
  randomness: systemRandomness,
  observe: ({ kind }) => {
    if (kind === 'timer.scheduled') process.stdout.write('holds the lease\n');
    if (kind === 'lease.lost') process.stdout.write('lost the lease\n');
  },
});
await listener.start(new AbortController().signal);
process.stdout.write('listening\n');
