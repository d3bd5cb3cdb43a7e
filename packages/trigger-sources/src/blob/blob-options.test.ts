import { describe, expect, it } from 'vitest';
import { blobBindingOptions, blobTriggerOptions, readBlobHostOptions, type BlobHostOptions } from './blob-options.js';

const trigger = (binding: object, host: BlobHostOptions = {}) =>
  blobTriggerOptions({ functionName: 'resize', host, binding, cores: 2 });

describe('the options of a blobTrigger', () => {
  it('have the defaults of Azure', () => {
    expect(trigger({ path: 'photos/{name}' })).toMatchObject({
      maxDegreeOfParallelism: 16,
      poisonBlobThreshold: 5,
      scanIntervalMs: 10_000,
      leaseMs: 60_000,
      retryBackOffMs: 0,
      unknownKeys: [],
    });
  });

  it('come from host.json, and the trigger overrides them', () => {
    const host = readBlobHostOptions({ maxDegreeOfParallelism: 3, PoisonBlobThreshold: '2', scanInterval: '00:01:00' });
    expect(host).toMatchObject({ problems: [], unknownKeys: [] });
    const options = trigger({ path: 'photos/{name}', maxDequeueCount: 9, scanInterval: '00:00:01' }, host.values);
    expect(options).toMatchObject({ maxDegreeOfParallelism: 3, poisonBlobThreshold: 9, scanIntervalMs: 1_000 });
  });

  it('name what no component reads', () => {
    expect(trigger({ path: 'photos/{name}', type: 'blobTrigger', containr: 'x' }).unknownKeys).toEqual(['containr']);
    expect(readBlobHostOptions({ maxDegree: 1, poisonBlobThreshold: 0 })).toMatchObject({
      unknownKeys: ['maxDegree'],
      problems: [{ key: 'poisonBlobThreshold' }],
    });
  });

  it('accept the source that scans, and the one that takes events besides', () => {
    expect(trigger({ path: 'photos/{name}', source: 'LogsAndContainerScan' }).takesEvents).toBe(false);
    expect(trigger({ path: 'photos/{name}', source: 'EventGrid' }).takesEvents).toBe(true);
  });

  it('are refused with all problems at once', () => {
    expect(() => trigger({ path: 'photos/{name', maxDegreeOfParallelism: 0 })).toThrow(
      /resize.*\n.*maxDegreeOfParallelism must be a whole number.*\n.*path has a brace without its counterpart/,
    );
    expect(() => trigger({})).toThrow('its blobTrigger needs a path: "container/blob"');
  });
});

describe('the options of a blob input or output', () => {
  const options = (binding: object, kind: 'input' | 'output' = 'input') =>
    blobBindingOptions({ functionName: 'resize', binding }, kind, 'http://account');

  it('give bytes unless the function asks for a string', () => {
    expect(options({ path: 'box/a' })).toEqual({
      path: { container: 'box', name: 'a' },
      contentType: 'application/octet-stream',
      dataType: 'bytes',
      isSdkBinding: false,
    });
    expect(options({ path: 'box/a', dataType: 'string' }).dataType).toBe('text');
    expect(options({ path: 'box/a', dataType: 'stream' }).dataType).toBe('bytes');
  });

  it('name the content type of an output', () => {
    expect(options({ path: 'box/a', contentType: 'text/html' }, 'output').contentType).toBe('text/html');
  });

  it('are refused without a path, and with one that is not a blob', () => {
    expect(() => options({}, 'output')).toThrow('its blob output needs a path');
    expect(() => options({ path: 'box' })).toThrow('its blob input: path must be "container/blob", not "box"');
  });
});
