import { readdirSync, readFileSync } from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';
import { eventually } from '@drover/testkit';
import { expect, it } from 'vitest';
import { helloApp } from '../support/functions.js';
import { childrenOf, readyLine, startUp, withDataDirectory } from '../support/platform.js';

const windowMs = 5_000;
/** In all processes together, PostgreSQL's too: about 65 are left of 570 that every metric, poll and probe once made. */
const mostWakeUpsPerSecond = 110;

const descendantsOf = (pid: number): number[] => childrenOf(pid).flatMap((child) => [child, ...descendantsOf(child)]);

/** How often threads of a process have waited so far; a process that ended meanwhile has none. */
function wakeUpsOf(pid: number): number {
  try {
    return readdirSync(`/proc/${pid}/task`)
      .map((thread) => readFileSync(`/proc/${pid}/task/${thread}/status`, 'utf8'))
      .reduce((sum, status) => sum + Number(/^voluntary_ctxt_switches:\s+(\d+)$/m.exec(status)?.[1] ?? 0), 0);
  } catch {
    return 0;
  }
}

it.skipIf(process.platform !== 'linux')('lets a machine sleep while an application is idle', () =>
  withDataDirectory(async (directory, started) => {
    const up = started(startUp(directory, { args: ['--json', '--app', helloApp] }));
    await readyLine(up);
    // The first windows still see the start. A slow machine sleeps more, not less.
    await eventually(async () => {
      const pids = [up.pid, ...descendantsOf(up.pid)];
      const before = new Map(pids.map((pid) => [pid, wakeUpsOf(pid)]));
      await pause(windowMs);
      const wakeUps = pids.reduce((sum, pid) => sum + Math.max(0, wakeUpsOf(pid) - (before.get(pid) ?? 0)), 0);
      expect(wakeUps / (windowMs / 1_000)).toBeLessThan(mostWakeUpsPerSecond);
    });
  }),
);
