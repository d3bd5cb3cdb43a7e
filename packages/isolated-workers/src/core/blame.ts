import type { UnexpectedShutdownConfig, UnexpectedShutdownStrategy } from '../types/config.js';
import type { PendingRequest } from './pending-request.js';

/** What becomes of the requests that a dead worker had. */
export interface Blame {
  /** It had not begun with them: they run again, and it costs them nothing. */
  readonly bystanders: readonly PendingRequest[];
  /** One of these killed it. */
  readonly suspects: readonly PendingRequest[];
}

/**
 * Tells suspects from bystanders. `hadStarted` answers from the worker's own notes; where there are none about anybody, the
 * oldest request is the suspect, since a worker begins with them in order and notes the first only when a second begins.
 */
export function blame(sent: readonly PendingRequest[], hadStarted: (wireId: number) => boolean | undefined): Blame {
  const verdicts = sent.map((request) => hadStarted(request.wireId));
  if (verdicts.includes(undefined)) return { bystanders: [], suspects: sent };
  const noted = sent.filter((_, index) => verdicts[index]);
  const suspects = noted.length > 0 ? noted : sent.slice(0, 1);
  return { suspects, bystanders: sent.filter((request) => !suspects.includes(request)) };
}

/** The strategy for one type of message. Own properties only: types may be called `constructor` or `toString`. */
export function strategyFor(
  config: UnexpectedShutdownConfig<unknown> | undefined,
  type: string,
): UnexpectedShutdownStrategy {
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

/** How many tries a request of this type gets, the first included. */
export function maxAttemptsFor(config: UnexpectedShutdownConfig<unknown> | undefined, type: string): number {
  const strategy = strategyFor(config, type);
  return strategy.strategy === 'retry' ? Math.max(1, strategy.attempts ?? 2) : 1;
}
