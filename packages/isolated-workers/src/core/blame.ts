import type { UnexpectedShutdownConfig, UnexpectedShutdownStrategy } from '../types/config.js';
import type { PendingRequest } from './pending-request.js';

/** The requests of a dead worker. */
export interface Blame {
  /** Not started: they run again without losing an attempt. */
  readonly bystanders: readonly PendingRequest[];
  /** Started: one of them may have killed the worker. */
  readonly suspects: readonly PendingRequest[];
}

/**
 * Separates suspects from bystanders. `hadStarted` reads the journal of the worker. If it names no request, the oldest one is
 * the suspect: a worker starts requests in order and records the first only when a second starts.
 */
export function blame(sent: readonly PendingRequest[], hadStarted: (wireId: number) => boolean | undefined): Blame {
  const verdicts = sent.map((request) => hadStarted(request.wireId));
  if (verdicts.includes(undefined)) return { bystanders: [], suspects: sent };
  if (!verdicts.includes(true)) return { suspects: sent.slice(0, 1), bystanders: sent.slice(1) };
  return {
    suspects: sent.filter((_, index) => verdicts[index]),
    bystanders: sent.filter((_, index) => !verdicts[index]),
  };
}

/** Returns the strategy for a message. Checks own properties: a message may be called `constructor` or `toString`. */
function strategyFor(config: UnexpectedShutdownConfig<unknown> | undefined, type: string): UnexpectedShutdownStrategy {
  if (!config) return { strategy: 'reject' };
  const byType = config.byType as Readonly<Record<string, UnexpectedShutdownStrategy>> | undefined;
  if (byType && Object.hasOwn(byType, type)) return byType[type] ?? config;
  const flat = config as unknown as Readonly<Record<string, unknown>>;
  const reserved = type === 'strategy' || type === 'attempts' || type === 'byType';
  const own = !reserved && Object.hasOwn(flat, type) ? flat[type] : undefined;
  return isStrategy(own) ? own : config;
}

function isStrategy(value: unknown): value is UnexpectedShutdownStrategy {
  return typeof value === 'object' && value !== null && 'strategy' in value;
}

/** Returns how many attempts a request of this type has, including the first. */
export function maxAttemptsFor(config: UnexpectedShutdownConfig<unknown> | undefined, type: string): number {
  const strategy = strategyFor(config, type);
  return strategy.strategy === 'retry' ? Math.max(1, strategy.attempts ?? 2) : 1;
}
