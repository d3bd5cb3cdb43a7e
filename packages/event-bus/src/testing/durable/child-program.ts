import { eventually } from '@drover/testkit';
import type { OpenedBus } from './ledger.js';

/** First message to a child process. */
export interface Assignment {
  /** URL of the adapter's module, which exports `openBus(argument)`. */
  readonly module: string;
  readonly argument: string;
}

/** The module that an `Assignment` names. */
export interface BusModule {
  readonly openBus: (argument: string) => Promise<OpenedBus>;
}

/** Long enough for a back end that is restarting. */
const openWithinMs = 30_000;

/** Runs a fixture program until it is killed or the test that started it has exited. */
export async function runChildProgram(program: (opened: OpenedBus) => Promise<void>): Promise<void> {
  process.once('disconnect', () => process.exit());
  const { module, argument } = await new Promise<Assignment>((resolve) => {
    process.once('message', (message) => resolve(message as Assignment)); // the contract suite sends nothing else
  });
  const { openBus } = (await import(module)) as BusModule; // checked by the first call
  const opened = await eventually(() => openBus(argument), openWithinMs);
  process.stdout.write('open\n');
  await program(opened);
}

/** Writes each reason once: an unavailable back end would repeat it a thousand times. */
export function complainOnce(): (error: unknown) => void {
  const said = new Set<string>();
  return (error) => {
    const reason = String(error);
    if (!said.has(reason)) process.stderr.write(`${reason}\n`);
    said.add(reason);
  };
}
