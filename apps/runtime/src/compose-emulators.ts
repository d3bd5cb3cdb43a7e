import type { Environment, Leash } from '@drover/service-kit';
import type { RuntimeIo } from './compose-workers.js';
import type { DemandedEndpoint } from './emulators/emulator-demand.js';
import { EmulatorSupply, type EmulatorStarter } from './emulators/emulator-supply.js';

/** Has emulators started by the process that supervises this runtime. */
export type DemandEmulators = (endpoints: readonly DemandedEndpoint[]) => void;

interface ComposeEmulatorsOptions {
  readonly environment: Environment;
  readonly leash: Leash;
  readonly io: RuntimeIo;
  /** Undefined: this runtime supervises the emulators by itself. */
  readonly demand: DemandEmulators | undefined;
}

export function composeEmulators({ environment, leash, io, demand }: ComposeEmulatorsOptions): EmulatorSupply {
  const { clock, observe } = io;
  const own = async (): Promise<EmulatorStarter> => {
    const { SupervisedEmulators } = await import('./emulators/supervised-emulators.js');
    return new SupervisedEmulators({
      ...io,
      environment,
      leash,
      onLine: (line) => observe({ kind: 'emulators.said', ...readLine(line) }),
      onFailed: (reason) => observe({ kind: 'emulators.failed', reason }),
    });
  };
  return new EmulatorSupply({ clock, starter: demand ? async () => ofParent(demand) : own });
}

function ofParent(demand: DemandEmulators): EmulatorStarter {
  const nothing = (): Promise<void> => Promise.resolve();
  return { name: 'emulators of the parent', start: nothing, drain: nothing, stop: nothing, demand };
}

const levels = ['debug', 'info', 'warn', 'error'] as const;

/** Reads a line of the log of the emulators; what is not one is passed on as it is. */
function readLine(line: string): { readonly severity: (typeof levels)[number]; readonly text: string } {
  try {
    const { level, msg, audience } = JSON.parse(line) as Readonly<Record<string, unknown>>; // its own log, or no object
    const severity = audience === undefined ? levels.find((one) => one === level) : 'debug';
    if (typeof msg === 'string') return { severity: severity ?? 'info', text: msg };
  } catch {
    // Not JSON: a stack trace, or a warning of Node.js.
  }
  return { severity: 'warn', text: line };
}
