import { defineStates } from '@drover/contracts';
import { messageOf } from '../observations/describe-error.js';

/**
 * - starting: not yet ready to take work
 * - ready: takes work
 * - draining: alive, finishes what it has, takes nothing new
 * - stopped: lets go of everything
 */
export const processStates = defineStates('process', {
  starting: ['ready', 'stopped'],
  ready: ['draining', 'stopped'],
  draining: ['stopped'],
  stopped: [],
});

export type ProcessState = (typeof processStates.all)[number];

/** Says what is wrong, or nothing when all is well. Must answer quickly: it is asked on every probe. */
export type HealthCheck = () => string | undefined;

export interface HealthReport {
  readonly status: ProcessState;
  /** Why it takes no work although it has started; by name of the check. */
  readonly problems: Readonly<Record<string, string>>;
}

/** Liveness and readiness of one process: its state, and checks that its parts add. */
export class Health {
  readonly #machine;
  readonly #checks = new Map<string, HealthCheck>();

  constructor(onMove?: (change: { from: ProcessState; to: ProcessState }) => void) {
    this.#machine = processStates.start('starting', onMove);
  }

  get state(): ProcessState {
    return this.#machine.current;
  }

  /** Adds a reason why this process may be unable to take work for the moment. */
  addCheck(name: string, check: HealthCheck): void {
    this.#checks.set(name, check);
  }

  move(to: ProcessState): void {
    this.#machine.move(to);
  }

  report(): HealthReport {
    const problems: Record<string, string> = {};
    for (const [name, check] of this.#checks) {
      const problem = ask(check);
      if (problem !== undefined) problems[name] = problem;
    }
    return { status: this.state, problems };
  }

  isReady(): boolean {
    return this.state === 'ready' && Object.keys(this.report().problems).length === 0;
  }
}

/** A check that throws has found a problem: a probe is always answered. */
function ask(check: HealthCheck): string | undefined {
  try {
    return check();
  } catch (error) {
    return messageOf(error);
  }
}
