import path from 'node:path';
import { Child } from '@drover/testkit';
import type { QueueOptions } from '../queue/queue-options.js';
import type { EventHubBenchOptions } from './event-hub-bench.js';
import type { TriggerVictim } from './trigger-listener-contract.js';

/** Which deliveries a victim settles. */
interface Settling {
  readonly settles: 'nothing' | 'everything';
}

export interface VictimAssignment extends Settling {
  readonly connectionString: string;
  readonly options: QueueOptions;
}

export interface BlobVictimAssignment extends Settling {
  readonly connectionString: string;
  readonly application: string;
  readonly functionName: string;
  readonly binding: Readonly<Record<string, unknown>>;
}

export interface BusVictimAssignment extends Settling {
  readonly connectionString: string;
  /** Options of the trigger. */
  readonly binding: Readonly<Record<string, unknown>>;
}

/** A process with a listener that prints one line per delivery, to be killed by a test. */
type VictimProcess = TriggerVictim & { readonly child: Child };

export function startQueueVictim(assignment: VictimAssignment): Promise<VictimProcess> {
  return startVictim('queue-victim-process', assignment);
}

export function startBlobVictim(assignment: BlobVictimAssignment): Promise<VictimProcess> {
  return startVictim('blob-victim-process', assignment);
}

export function startBusVictim(assignment: BusVictimAssignment): Promise<VictimProcess> {
  return startVictim('bus-victim-process', assignment);
}

/** Settles nothing. */
export function startEventHubVictim(bench: Omit<EventHubBenchOptions, 'store'>): Promise<VictimProcess> {
  return startVictim('event-hub-victim-process', bench);
}

/** `program` is a file of this folder, which runs from the build and gets its assignment as JSON. */
async function startVictim(program: string, assignment: object): Promise<VictimProcess> {
  const file = path.resolve(import.meta.dirname, `../../dist/testing/${program}.js`);
  const child = new Child(process.execPath, [file, JSON.stringify(assignment)], {
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
  });
  await child.line(/^listening$/);
  return {
    child,
    holds: () => child.stdout.filter((line) => line.startsWith('got ')).length,
    async kill() {
      child.kill('SIGKILL');
      await child.exited;
    },
  };
}
