import type { OwnershipListener } from './owner-directory.js';

/** Several as one: each hears of a gain and of a handover when those before it are done, and of a loss at once. */
export function combineListeners(listeners: readonly OwnershipListener[]): OwnershipListener {
  return {
    async acquired(partitions) {
      for (const listener of listeners) await listener.acquired(partitions);
    },
    async releasing(partitions, deadline) {
      for (const listener of listeners) await listener.releasing(partitions, deadline);
    },
    lost(partitions) {
      for (const listener of listeners) listener.lost(partitions);
    },
  };
}
