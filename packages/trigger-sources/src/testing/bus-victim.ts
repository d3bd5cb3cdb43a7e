import path from 'node:path';
import { Child } from '@drover/testkit';
import type { TriggerVictim } from './trigger-listener-contract.js';

/** Argument of the process, as JSON. */
export interface BusVictimAssignment {
  readonly connectionString: string;
  /** Options of the trigger. */
  readonly binding: Readonly<Record<string, unknown>>;
  /** Which deliveries it settles. */
  readonly settles: 'nothing' | 'everything';
}

/** Starts a process with a Service Bus listener that prints one line per delivery, to be killed by a test. Runs from the build. */
export async function startBusVictim(
  assignment: BusVictimAssignment,
): Promise<TriggerVictim & { readonly child: Child }> {
  const program = path.resolve(import.meta.dirname, '../../dist/testing/bus-victim-process.js');
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
