import { systemClock, systemRandomness } from '@drover/service-kit';
import type { EventBus } from '../event-bus.js';
import { eventBusContract } from '../testing/event-bus-contract.js';
import { MemoryEventBus, MemoryEventLog } from './memory-event-bus.js';

eventBusContract('memory', async () => {
  const log = new MemoryEventLog();
  const opened: EventBus[] = [];
  return {
    async open() {
      const bus = new MemoryEventBus({
        clock: systemClock,
        randomness: systemRandomness,
        observe: () => undefined,
        log,
      });
      opened.push(bus);
      return bus;
    },
    async transaction(work) {
      const commits: (() => void)[] = [];
      const result = await work({
        query: () => Promise.resolve([]),
        afterCommit: (action) => void commits.push(action),
      });
      for (const action of commits) action();
      return result;
    },
    close: async () => void (await Promise.all(opened.map((bus) => bus.stop()))),
  };
});
