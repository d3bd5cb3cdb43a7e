import { defineStates } from '@drover/contracts';
import { messageOf } from '../observations/describe-error.js';

/**
 * - starting: not ready for work yet
 * - ready: accepts work
 * - draining: finishes work in flight and accepts no new work
 * - stopped: all parts are stopped
 */
export const processStates = defineStates('process', {
  starting: ['ready', 'stopped'],
  ready: ['draining', 'stopped'],
  draining: ['stopped'],
  stopped: [],
});

export type ProcessState = (typeof processStates.all)[number];

/** Returns a problem, or undefined if there is none. Must be fast: it runs on every probe. */
export type HealthCheck = () => string | undefined;

export interface HealthReport {
  /** The state of the process; `unready` if it has started and a check or a part of it keeps it from being ready. */
  readonly status: ProcessState | 'unready';
  /** What is wrong although the process has started, by name of the check. Some problems leave it ready. */
  readonly problems: Readonly<Record<string, string>>;
}

/** Readiness of a part that reports several problems, of which names and number may change. */
export interface PartHealth {
  readonly isReady: boolean;
  readonly problems: Readonly<Record<string, string>>;
}

/** Liveness and readiness of one process: its state and the checks of its parts. */
export class Health {
  readonly #machine;
  readonly #checks = new Map<string, HealthCheck>();
  readonly #notices = new Map<string, HealthCheck>();
  readonly #parts: (() => PartHealth)[] = [];

  constructor(onMove?: (change: { from: ProcessState; to: ProcessState }) => void) {
    this.#machine = processStates.start('starting', onMove);
  }

  get state(): ProcessState {
    return this.#machine.current;
  }

  /** Adds a check that can make the process temporarily not ready. */
  addCheck(name: string, check: HealthCheck): void {
    this.#checks.set(name, check);
  }

  /** Adds a check whose problem is reported, but leaves the process ready: a part of it does not work. */
  addNotice(name: string, check: HealthCheck): void {
    this.#notices.set(name, check);
  }

  /** Adds a part with a report of its own. Must be as fast as a check. */
  addPart(part: () => PartHealth): void {
    this.#parts.push(part);
  }

  move(to: ProcessState): void {
    this.#machine.move(to);
  }

  report(): HealthReport {
    const problems = { ...problemsOf(this.#checks), ...problemsOf(this.#notices) };
    const status = this.state === 'ready' && !this.isReady() ? 'unready' : this.state;
    return { status, problems: Object.assign(problems, ...this.#parts.map((part) => part().problems)) };
  }

  isReady(): boolean {
    const isChecked = this.state === 'ready' && Object.keys(problemsOf(this.#checks)).length === 0;
    return isChecked && this.#parts.every((part) => part().isReady);
  }
}

function problemsOf(checks: ReadonlyMap<string, HealthCheck>): Record<string, string> {
  const problems: Record<string, string> = {};
  for (const [name, check] of checks) {
    const problem = run(check);
    if (problem !== undefined) problems[name] = problem;
  }
  return problems;
}

/** Treats an exception as a problem, so that a probe always gets an answer. */
function run(check: HealthCheck): string | undefined {
  try {
    return check();
  } catch (error) {
    return messageOf(error);
  }
}
