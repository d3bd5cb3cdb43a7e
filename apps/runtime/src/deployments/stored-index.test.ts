import { describe, expect, it } from 'vitest';
import { toFunctionDefinitions } from '../applications/function-metadata.js';
import { parseHostJson } from '../applications/host-json.js';
import { metadataOf } from '../applications/metadata.test.fixture.js';
import { Settings } from '../applications/settings.js';
import { supportedBindings } from '../triggers/binding-extensions.js';
import type { FunctionIndex } from './deployed-version.js';
import { fromStoredIndex, toStoredIndex } from './stored-index.js';

const settings = new Settings({ QueueName: 'orders' });
const { hostJson } = parseHostJson('{"version":"2.0"}', {});
const metadata = metadataOf('work', [
  { name: 'item', type: 'queueTrigger', direction: 'in', queueName: '%QueueName%', connection: 'Storage' },
  { name: '$return', type: 'queue', direction: 'out', queueName: 'done' },
]);

function indexOf(disabled: boolean): FunctionIndex {
  const { functions } = toFunctionDefinitions([{ metadata, file: undefined, disabled }], {
    settings,
    retry: hostJson.retry,
    only: undefined,
  });
  return {
    functions,
    problems: [{ functionName: 'other', file: 'other.js', problem: 'it has no trigger' }],
    metadataVersion: 'm1',
  };
}

const noRoutes = new Map<string, never>();

describe('a stored index', () => {
  it('restores the same functions without a worker', () => {
    const index = indexOf(false);
    const stored = JSON.parse(JSON.stringify(toStoredIndex(index, { directory: '/app' }, noRoutes))) as ReturnType<
      typeof toStoredIndex
    >;
    expect(stored.functions).toMatchObject([
      { name: 'work', triggerType: 'queueTrigger', isDisabled: false, trigger: { queueName: 'orders' } },
    ]);
    const restored = fromStoredIndex(stored, { directory: '/app', hostJson, settings }, supportedBindings);
    expect(restored.functions).toEqual(index.functions);
    expect(restored.metadataVersion).toBe('m1');
    expect(restored.problems).toEqual([
      { functionName: 'other', file: undefined, problem: 'it has no trigger (other.js)' },
    ]);
  });

  it('follows the code to another directory', () => {
    const index = indexOf(false);
    const [definition] = index.functions;
    const inside = { ...metadata, directory: '/app/work' };
    const moved = toStoredIndex(
      { ...index, functions: definition ? [{ ...definition, metadata: inside }] : [] },
      { directory: '/app' },
      noRoutes,
    );
    expect(moved.functions[0]?.metadata).toMatchObject({ directory: 'work' });
    const restored = fromStoredIndex(moved, { directory: '/elsewhere', hostJson, settings }, supportedBindings);
    expect(restored.functions[0]?.metadata.directory).toBe('/elsewhere/work');
  });

  it('remembers a function that its function.json disables', () => {
    const stored = toStoredIndex(indexOf(true), { directory: '/app' }, noRoutes);
    expect(
      fromStoredIndex(stored, { directory: '/app', hostJson, settings }, supportedBindings).functions,
    ).toMatchObject([{ name: 'work', isDisabled: true }]);
  });

  it('reports a function whose setting is gone', () => {
    const stored = toStoredIndex(indexOf(false), { directory: '/app' }, noRoutes);
    const restored = fromStoredIndex(
      stored,
      { directory: '/app', hostJson, settings: new Settings({}) },
      supportedBindings,
    );
    expect(restored.functions).toEqual([]);
    expect(restored.problems.map(({ problem }) => problem).join()).toContain('QueueName');
  });
});
