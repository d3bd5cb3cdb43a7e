import path from 'node:path';
import { Child } from '@drover/testkit';
import type { QueueOptions } from '../queue/queue-options.js';
import type { TriggerVictim } from './trigger-listener-contract.js';

/** What the victim is told, as JSON. */
export interface VictimAssignment {
  readonly connectionString: string;
  readonly options: QueueOptions;
  /** What it does with what it gets. */
  readonly settles: 'nothing' | 'everything';
}

/** A process with a queue listener; what it gets it says on its output, a line each. It runs from the build. */
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
