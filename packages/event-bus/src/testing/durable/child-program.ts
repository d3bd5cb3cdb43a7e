import { eventually } from '@drover/testkit';
import type { OpenedBus } from './ledger.js';

/** What a child process is told first. */
export interface Assignment {
  /** URL of a module with `openBus(argument)`: how a process comes to its bus is the adapter's affair. */
  readonly module: string;
  readonly argument: string;
}

/** The module that an `Assignment` names. */
export interface BusModule {
  readonly openBus: (argument: string) => Promise<OpenedBus>;
}

/** A back end that is just coming back is no reason to give up. */
const openWithinMs = 30_000;

/** Runs a fixture program: it works until it is killed, or until the test that started it is gone. */
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

/** Says each reason once: a back end that is away would say the same a thousand times. */
export function complainOnce(): (error: unknown) => void {
  const said = new Set<string>();
  return (error) => {
    const reason = String(error);
    if (!said.has(reason)) process.stderr.write(`${reason}\n`);
    said.add(reason);
  };
}
