import { applicationChanged, type PublishedEvent } from '@drover/contracts';
import { MemoryEventBus } from '@drover/event-bus/testing';
import { systemClock, systemRandomness } from '@drover/service-kit';
import { applicationCatalogContract } from '../testing/application-catalog-contract.js';
import { MemoryApplicationCatalog } from './memory-application-catalog.js';

applicationCatalogContract('memory', async () => {
  const bus = new MemoryEventBus({ clock: systemClock, randomness: systemRandomness, observe: () => undefined });
  const events: PublishedEvent[] = [];
  await bus.subscribe({ topics: [applicationChanged], from: 'now', handle: (event) => void events.push(event) });
  const catalog = new MemoryApplicationCatalog({ bus, clock: systemClock, maxVersions: 3 });
  return { catalog, events, close: () => bus.stop() };
});
