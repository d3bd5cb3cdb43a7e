import { MemoryApplicationCatalog, sampleDeployment, sampleIndex } from '@drover/application-catalog/testing';
import { FakeClock } from '@drover/testkit';
import { expect, it } from 'vitest';
import { toPlacedApplication } from './placed-application.js';

it('starts the workers of a version with the options of its folder and of its settings', async () => {
  const catalog = new MemoryApplicationCatalog({ bus: { publish: () => Promise.resolve() }, clock: new FakeClock() });
  const application = await catalog.deploy({
    ...sampleDeployment(1),
    codeVersion: 'c1',
    index: { ...sampleIndex(), programOptions: ['--inspect=9229'] },
    settings: { languageWorkers__node__arguments: '--max-old-space-size=64' },
  });
  const { programOptions } = toPlacedApplication(application, 1, () => '/payload');
  expect(programOptions).toEqual({ c1: ['--inspect=9229', '--max-old-space-size=64'] });
});
