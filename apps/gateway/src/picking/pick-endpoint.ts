import type { Randomness } from '@drover/service-kit';
import type { Endpoint } from './endpoint.js';

export type Pick<E extends Endpoint = Endpoint> = { readonly endpoint: E } | { readonly refused: 'none' | 'full' };

export interface PickOptions {
  readonly nowMs: number;
  readonly randomness: Randomness;
  /** Had the request before. */
  readonly tried?: readonly Endpoint[] | undefined;
}

/** Endpoints of about the same cost get the same share: the noise of latencies must not starve one of them. */
const clearlyCheaper = 0.75;
/** A preferred endpoint is left for another one that answers in this part of its time. */
const clearlyFaster = 0.5;

/**
 * Chooses one of the endpoints of a route, which are in the order of preference. The first one keeps the requests while it is neither
 * much busier nor slower than another one: its caches and connections are warm, and concurrent requests share statements
 * (`bench:collections`, patch with 32 in flight: CPU of gateway and workers 618 -> 414 us). Otherwise the cost decides between it and
 * the better of two others at random. Ejected endpoints are left out, unless fewer than half would remain: then the evidence against
 * them is more likely an outage that they share. One that hangs gets no request at all.
 */
export function pickEndpoint<E extends Endpoint>(endpoints: readonly E[], options: PickOptions): Pick<E> {
  const { nowMs, tried } = options;
  if (tried === undefined && endpoints.length > 0 && areAllFree(endpoints, nowMs)) return choose(endpoints, options);
  const others = endpoints.filter((endpoint) => !endpoint.isHung && !tried?.includes(endpoint));
  if (others.length === 0) return { refused: 'none' };
  const open = others.filter((endpoint) => endpoint.isOpen(nowMs));
  const eligible = open.length * 2 >= others.length ? open : others;
  const free = eligible.filter(({ isFull }) => !isFull);
  return free.length === 0 ? { refused: 'full' } : choose(free, options);
}

/** Nearly always: then the choice allocates nothing but its result. */
function areAllFree(endpoints: readonly Endpoint[], nowMs: number): boolean {
  for (const endpoint of endpoints) if (endpoint.isFull || !endpoint.isOpen(nowMs)) return false;
  return true;
}

function choose<E extends Endpoint>(free: readonly E[], options: PickOptions): Pick<E> {
  const { nowMs } = options;
  const [preferred] = free;
  if (!preferred) return { refused: 'none' };
  const other = otherOf(free, options);
  if (!other) return { endpoint: preferred };
  const isFaster = other.latencyAloneMs(nowMs) < preferred.latencyAloneMs(nowMs) * clearlyFaster;
  if (!isFaster && !preferred.isClearlyBusierThan(other)) return { endpoint: preferred };
  return { endpoint: other.cost(nowMs) < preferred.cost(nowMs) ? other : preferred };
}

/** Returns the better of two endpoints at random, of those after the first one. */
function otherOf<E extends Endpoint>(free: readonly E[], { nowMs, randomness }: PickOptions): E | undefined {
  const count = free.length - 1;
  if (count < 2) return free[1];
  const first = Math.floor(randomness.fraction() * count);
  const step = count === 2 ? 1 : 1 + Math.floor(randomness.fraction() * (count - 1));
  const [a, b] = [free[1 + first], free[1 + ((first + step) % count)]];
  return a && b && b.cost(nowMs) < a.cost(nowMs) * clearlyCheaper ? b : a;
}
