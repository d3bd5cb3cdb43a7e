import { defaultTenantId } from '@drover/contracts';
import { describe, expect, it } from 'vitest';
import { discoveredDefinitions, type DiscoveredNames } from './discovered-definitions.js';

const defaults = {
  timeoutMs: 30_000,
  concurrency: 4,
  queueSize: 100,
  maxRetries: 3,
  retry: { handlerErrors: false, delayMs: 10, backOffFactor: 1, maxDelayMs: 60_000, windowMs: 600_000 },
};
const none: ReadonlyMap<string, DiscoveredNames> = new Map();

function application(name: string, ...functions: readonly string[]) {
  return { name, functions: functions.map((one) => ({ name: one, trigger: 'httpTrigger', isDisabled: false })) };
}

const discovered = (applications: ReturnType<typeof application>[], before = none) =>
  discoveredDefinitions({ applications }, defaults, before);

const namesOf = (names: DiscoveredNames | undefined) => [...(names?.byName.keys() ?? [])];

describe('functions discovered in applications', () => {
  it('are definitions with every default', () => {
    const names = discovered([application('default/shop', 'hello')]).get(defaultTenantId);
    expect(names?.byName.get('hello')).toEqual({
      ...defaults,
      tenantId: 'default',
      name: 'hello',
      generation: expect.any(Number),
      revision: 1,
      mode: 'APP',
      requestedMode: 'APP',
      appFunction: { application: 'shop', name: 'hello' },
      env: {},
      spec: { name: 'hello', executionMode: 'APP', appFunction: 'shop/hello' },
      discovered: { application: 'shop', trigger: 'httpTrigger' },
    });
  });

  it('have their own name and one with their application; the own one belongs to the first', () => {
    const names = discovered([application('default/a', 'x', 'y'), application('default/b', 'x')]).get(defaultTenantId);
    expect(namesOf(names)).toEqual(['x', 'a.x', 'y', 'a.y', 'b.x']);
    expect(names?.listed.map(({ name }) => name)).toEqual(['x', 'y', 'b.x']);
    expect(names?.byName.get('x')?.discovered?.application).toBe('a');
    expect(names?.byName.get('b.x')).toMatchObject({ appFunction: { application: 'b', name: 'x' } });
    const generations = ['x', 'a.x', 'b.x'].map((name) => names?.byName.get(name)?.generation);
    expect(generations[0]).toBe(generations[1]);
    expect(generations[0]).not.toBe(generations[2]);
  });

  it('belong to the tenant of their application', () => {
    const tenants = discovered([
      application('default/a', 'x'),
      application('other/a', 'x'),
      application('nobody', 'x'),
    ]);
    expect([...tenants.keys()]).toEqual(['default', 'other']);
    expect(tenants.get('other')?.byName.get('x')?.tenantId).toBe('other');
  });

  it('are left out where they are disabled, or their names are none that can be called', () => {
    const long = 'f'.repeat(64);
    const off = { name: 'off', trigger: 'httpTrigger', isDisabled: true };
    const first = application('default/1st', 'good', '1bad', long);
    const names = discovered([{ ...first, functions: [...first.functions, off] }]).get(defaultTenantId);
    expect(namesOf(names)).toEqual(['good']);
    expect(namesOf(discovered([application('default/a', 'b:c', long.slice(1))]).get(defaultTenantId))).toEqual([
      long.slice(1),
    ]);
  });

  it('stay the very same while nothing about them changes', () => {
    const before = discovered([application('default/a', 'x'), application('default/b', 'x', 'z')]);
    const after = discovered([application('default/b', 'x', 'z', 'new')], before);
    const [was, is] = [before.get(defaultTenantId)?.byName, after.get(defaultTenantId)?.byName];
    expect(is?.get('z')).toBe(was?.get('z'));
    expect(is?.get('b.x')).toBe(was?.get('b.x'));
    expect(is?.get('x')).not.toBe(was?.get('x'));
    expect(is?.get('x')?.generation).not.toBe(was?.get('x')?.generation);
  });
});
