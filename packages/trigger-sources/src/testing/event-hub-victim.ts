import path from 'node:path';
import { Child } from '@drover/testkit';
import type { EventHubBenchOptions } from './event-hub-bench.js';
import type { TriggerVictim } from './trigger-listener-contract.js';

/** Starts a process with an event hub listener that prints one line per delivery and settles none, to be killed by a test. Runs from the build. */
export async function startEventHubVictim(bench: Omit<EventHubBenchOptions, 'store'>): Promise<TriggerVictim> {
  const program = path.resolve(import.meta.dirname, '../../dist/testing/event-hub-victim-process.js');
  const child = new Child(process.execPath, [program, JSON.stringify(bench)], {
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
  });
  await child.line(/^listening$/);
  return {
    holds: () => child.stdout.filter((line) => line.startsWith('got ')).length,
    async kill() {
      child.kill('SIGKILL');
      await child.exited;
    },
  };
}
