import { describe, expect, it } from 'vitest';
import type { InstanceSpec } from '../instance-provider.js';
import { InstanceTable } from './instance-table.js';

const spec = (instanceId: string): InstanceSpec => ({
  instanceId,
  role: 'function-worker',
  labels: {},
  environment: {},
  args: [],
});
const end = { isClean: true, text: 'exit code 0' };

describe('the table of instances', () => {
  it('refuses an instance beyond the limit, and takes one again when another has ended', () => {
    const table = new InstanceTable({ maxInstances: 2 });
    for (const id of ['a', 'b']) table.add(spec(id), 0);
    expect(() => table.add(spec('c'), 0)).toThrow('2 instances run, which is the limit.');
    expect(table.add(spec('a'), 0)).toBe(false);
    table.ended('a', end);
    expect(table.add(spec('c'), 0)).toBe(true);
  });

  it('keeps the last thousand ended instances if no caller forgets them, and every running one', () => {
    const table = new InstanceTable({ maxInstances: 10 });
    table.add(spec('runs'), 0);
    for (let index = 0; index < 1_200; index += 1) {
      table.add(spec(`i${index}`), 0);
      table.ended(`i${index}`, end);
    }
    const ids = table.list().map(({ instanceId }) => instanceId);
    expect(ids).toHaveLength(1_001);
    expect([ids[0], ids[1], ids.at(-1)]).toEqual(['runs', 'i200', 'i1199']);
  });

  it('ends an instance once', () => {
    const table = new InstanceTable({ maxInstances: 1 });
    const states: string[] = [];
    table.subscribe(({ instance }) => states.push(instance.state));
    table.add(spec('a'), 0);
    table.ended('a', end);
    table.ended('a', { isClean: false, text: 'late' });
    expect(table.move('a', 'running')).toBe(false);
    expect(states).toEqual(['starting', 'ended']);
    expect(table.list()).toMatchObject([{ end }]);
  });
});
