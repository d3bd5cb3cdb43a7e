import type { HomeListener } from './location.js';

/** Several as one: each hears of a gain and of a handover when those before it are done, and of a loss at once. */
export function inTurn(listeners: readonly HomeListener[]): HomeListener {
  return {
    async gained(partitions) {
      for (const listener of listeners) await listener.gained(partitions);
    },
    async leaving(partitions, deadline) {
      for (const listener of listeners) await listener.leaving(partitions, deadline);
    },
    lost(partitions) {
      for (const listener of listeners) listener.lost(partitions);
    },
  };
}
