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

/**
 * Chooses one of the endpoints of a route: of two at random the one with the lower cost. Ejected endpoints are left out, unless fewer
 * than half would remain: then the evidence against them is more likely an outage that they share. One that hangs gets no request at all.
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

function choose<E extends Endpoint>(free: readonly E[], { nowMs, randomness }: PickOptions): Pick<E> {
  const count = free.length;
  const first = count === 1 ? 0 : Math.floor(randomness.fraction() * count);
  const a = free[first];
  if (!a) return { refused: 'none' };
  const step = count <= 2 ? 1 : 1 + Math.floor(randomness.fraction() * (count - 1));
  const b = free[(first + step) % count] ?? a;
  return { endpoint: b !== a && b.cost(nowMs) < a.cost(nowMs) * clearlyCheaper ? b : a };
}
