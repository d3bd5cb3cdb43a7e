import { Child } from '@drover/testkit';
import { expect, it } from 'vitest';
import { fixture } from '../../test-bench.test.fixture.js';

it('a host without free file descriptors survives the end of its workers, and starts others when it has some', async () => {
  const limited = 'ulimit -n 128 && exec "$0" "$1"';
  const host = new Child('/bin/sh', ['-c', limited, process.execPath, fixture('exhausted-host.mjs')]);
  try {
    const exit = await host.exited;
    expect(host.stderr).toEqual([]);
    expect(exit).toEqual({ code: 0, signal: null });
    const [crashed, refused] = ['ERR_WORKER_CRASHED', 'ERR_WORKER_UNAVAILABLE EMFILE'];
    expect(JSON.parse(host.stdout.join(''))).toEqual({
      worker: [crashed, refused, refused, 'answered'],
      standby: [crashed, crashed, refused, 'answered'],
      pool: [crashed, refused, refused, 'answered'],
      start: refused,
    });
  } finally {
    await host.end();
  }
});
