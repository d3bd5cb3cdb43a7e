import { failedConnection } from '../core/start-connection.js';
import type { Driver } from '../types/driver.js';
import type { FaultPlan, InjectedFault } from './fault-plan.js';
import { FaultyConnection } from './faulty-connection.js';

/** A driver that injects planned faults and records them. */
export interface FaultyDriver extends Driver {
  /** The faults that were injected so far, in order. */
  readonly injected: readonly InjectedFault[];
  /** The number of workers that were started or refused so far. */
  readonly lives: number;
}

/** Wraps a driver and injects the faults of the plan into real workers, for tests of code that must survive them. */
export function faultyDriver(inner: Driver, plan: FaultPlan): FaultyDriver {
  const injected: InjectedFault[] = [];
  let lives = 0;
  const report = (fault: InjectedFault): void => void injected.push(fault);
  const refusals = plan.reduce((sum, fault) => sum + (fault.kind === 'refuse-spawn' ? fault.times : 0), 0);
  const incapable = plan.some((fault) => fault.kind === 'no-capabilities');
  return {
    name: inner.name,
    capabilities: incapable
      ? { reconnect: false, transfer: false, kill: false, memoryLimit: false }
      : inner.capabilities,
    injected,
    get lives() {
      return lives;
    },
    connect(spec, events) {
      const life = (lives += 1);
      if (life > refusals)
        return new FaultyConnection({ life, plan, events, report }, (own) => inner.connect(spec, own));
      report({ kind: 'refuse-spawn', life });
      return failedConnection(new Error('spawn refused: EAGAIN'), events);
    },
  };
}
