import { describe, expect, it } from 'vitest';
import { toFunctionDefinitions } from './function-metadata.js';
import { metadataVersion } from './metadata-version.js';
import { metadataOf } from './metadata.test.fixture.js';
import { Settings } from './settings.js';

const trigger = { name: 'item', type: 'queueTrigger', direction: 'in', queueName: '%Queue%', connection: 'Storage' };
const base = { Queue: 'orders', AzureWebJobsStorage: 'secret', Other: 'x' };

function version(
  change: {
    trigger?: object;
    settings?: Record<string, string>;
    host?: object;
    names?: string[];
    script?: string;
  } = {},
): string {
  const settings = new Settings({ ...base, ...change.settings });
  const declared = (change.names ?? ['one', 'two']).map((name) => ({
    metadata: { ...metadataOf(name, [{ ...trigger, ...change.trigger }]), scriptFile: change.script ?? 'a.js' },
    file: undefined,
  }));
  const { functions } = toFunctionDefinitions(declared, { settings, retry: undefined, only: undefined });
  return metadataVersion({ functions, rawHostJson: change.host ?? { version: '2.0', a: { b: 1, c: 2 } }, settings });
}

describe('metadataVersion', () => {
  it('is the same whatever the order of functions and keys, and whatever the code', () => {
    expect(version()).toMatch(/^m[0-9a-f]{16}$/);
    expect(version({ names: ['two', 'one'] })).toBe(version());
    expect(version({ host: { a: { c: 2, b: 1 }, version: '2.0' } })).toBe(version());
    expect(version({ script: 'b.js' })).toBe(version());
    expect(version({ settings: { Other: 'y' } })).toBe(version());
  });

  it.each([
    { trigger: { queueName: 'x' } },
    { trigger: { batchSize: 1 } },
    { names: ['one'] },
    { settings: { Queue: 'other' } },
    { settings: { AzureWebJobsStorage: 'rotated' } },
    { settings: { Storage__queueServiceUri: 'https://q' } },
    { settings: { 'AzureWebJobs.one.Disabled': 'true' } },
    { host: { version: '2.0' } },
  ])('changes with %j', (change) => {
    expect(version(change)).not.toBe(version());
  });
});
