import type { Randomness } from '@drover/service-kit';
import type { Endpoint } from './endpoint.js';

export type Pick = { readonly endpoint: Endpoint } | { readonly refused: 'none' | 'full' };

/**
 * Chooses one of the endpoints of a route: of two at random the one with the lower cost. Ejected endpoints are left out, unless fewer
 * than half would remain: then the evidence against them is more likely an outage that they share. `tried` had the request before.
 */
export function pickEndpoint(
  endpoints: readonly Endpoint[],
  { nowMs, randomness, tried }: { readonly nowMs: number; readonly randomness: Randomness; readonly tried?: Endpoint },
): Pick {
  const others = tried ? endpoints.filter((endpoint) => endpoint !== tried) : endpoints;
  if (others.length === 0) return { refused: 'none' };
  const open = others.filter((endpoint) => endpoint.isOpen(nowMs));
  const eligible = open.length * 2 >= others.length ? open : others;
  const free = eligible.filter(({ isFull }) => !isFull);
  const [only] = free;
  if (!only) return { refused: 'full' };
  if (free.length === 1) return { endpoint: only };
  const first = Math.floor(randomness.fraction() * free.length);
  const step = 1 + Math.floor(randomness.fraction() * (free.length - 1));
  const a = free[first] ?? only;
  const b = free[(first + step) % free.length] ?? only;
  return { endpoint: a.cost(nowMs) <= b.cost(nowMs) ? a : b };
}
