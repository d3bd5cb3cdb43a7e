import { Child } from '@drover/testkit';
import { expect, it } from 'vitest';
import { fixture } from './test-bench.test.fixture.js';

interface Left {
  readonly resources: readonly string[];
  readonly listeners: number;
  readonly descriptors: number;
  readonly children: string;
}

it('a host that closed its workers has no child, listener, timer or descriptor left, and ends by itself', async () => {
  const host = new Child(process.execPath, [fixture('tidy-host.mjs')]);
  try {
    const exit = await host.exited;
    expect(host.stderr).toEqual([]);
    expect(exit).toEqual({ code: 0, signal: null });
    const told = JSON.parse(host.stdout.join('')) as { before: Left; after: Left };
    expect(told.after).toEqual({ ...told.before, listeners: 0, children: '' });
    // its own two, if they are pipes
    expect(told.after.resources.filter((name) => name !== 'PipeWrap')).toEqual([]);
  } finally {
    await host.end();
  }
});
