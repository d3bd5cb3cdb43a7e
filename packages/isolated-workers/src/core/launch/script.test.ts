import { afterEach, expect, it, vi } from 'vitest';
import { processVariable } from './launch-parameters.js';
import { workerEnvironment } from './script.js';

afterEach(() => {
  vi.unstubAllEnvs();
});

it('a thread of a worker process that does not serve yet is not taken for that process', () => {
  vi.stubEnv(processVariable, '{}');
  vi.stubEnv('KEPT', 'of the host');
  const environment = workerEnvironment({ env: { OWN: 'of the worker' }, inheritEnv: true });
  expect(environment).toMatchObject({ KEPT: 'of the host', OWN: 'of the worker' });
  expect(environment).not.toHaveProperty(processVariable);
});
