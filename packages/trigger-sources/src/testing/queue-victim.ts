import path from 'node:path';
import { Child } from '@drover/testkit';
import type { QueueOptions } from '../queue/queue-options.js';
import type { TriggerVictim } from './trigger-listener-contract.js';

/** Argument of the process, as JSON. */
export interface VictimAssignment {
  readonly connectionString: string;
  readonly options: QueueOptions;
  /** Which deliveries it settles. */
  readonly settles: 'nothing' | 'everything';
}

/** Starts a process with a queue listener that prints one line per delivery, to be killed by a test. Runs from the build. */
export async function startQueueVictim(
  assignment: VictimAssignment,
): Promise<TriggerVictim & { readonly child: Child }> {
  const program = path.resolve(import.meta.dirname, '../../dist/testing/queue-victim-process.js');
  const child = new Child(process.execPath, [program, JSON.stringify(assignment)], {
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
