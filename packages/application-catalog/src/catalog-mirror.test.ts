import type { SubscribeOptions, Subscription } from '@drover/event-bus';
import { FakeClock } from '@drover/testkit';
import { expect, it } from 'vitest';
import { CatalogMirror } from './catalog-mirror.js';
import { MemoryApplicationCatalog } from './memory/memory-application-catalog.js';
import { acmeTenant, sampleDeployment } from './testing/sample-deployments.js';

it('CatalogMirror reads everything again when events were lost, and tells only what changed', async () => {
  const catalog = new MemoryApplicationCatalog({ bus: { publish: () => Promise.resolve() }, clock: new FakeClock() });
  let subscribed: SubscribeOptions | undefined;
  const bus = {
    lastPosition: () => Promise.resolve(7),
    subscribe: async (options: SubscribeOptions): Promise<Subscription> => {
      subscribed = options;
      return { position: 7, close: () => Promise.resolve() };
    },
  };
  for (const applicationId of ['same', 'changed', 'gone']) await catalog.deploy(sampleDeployment(1, { applicationId }));
  const mirror = new CatalogMirror(catalog, bus);
  await mirror.start();
  expect(subscribed?.from).toBe(7);
  const heard: string[] = [];
  mirror.onChange((key, application) => void heard.push(`${key} ${application ? 'is there' : 'is gone'}`));
  await catalog.deploy(sampleDeployment(2, { applicationId: 'changed' }));
  await catalog.deploy(sampleDeployment(1, { applicationId: 'new' }));
  const gone = { tenantId: acmeTenant, applicationId: 'gone' };
  await catalog.beginRemoval(gone);
  await catalog.completeRemoval(gone);
  await subscribed?.onGap?.({ after: 7, next: 20 });
  expect(heard.toSorted()).toEqual(['acme/changed is there', 'acme/gone is gone', 'acme/new is there']);
  expect(
    mirror
      .all()
      .map(({ applicationId }) => applicationId)
      .toSorted(),
  ).toEqual(['changed', 'new', 'same']);
});
