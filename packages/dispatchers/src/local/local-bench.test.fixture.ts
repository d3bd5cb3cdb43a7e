import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { isAlive } from '@drover/testkit';
import { systemClock } from '@drover/service-kit';
import { afterEach, expect } from 'vitest';
import { attemptOf, definitionOf, type AttemptChanges } from '../testing/attempts.js';
import { LocalDispatcher, type LocalDispatcherOptions } from './local-dispatcher.js';
import type { LocalObservation } from './observations.js';

/** Dispatchers over folders of their own; after each test they are stopped, and none of their processes is left. */
export function localBench() {
  const cleanUp: (() => Promise<void>)[] = [];
  afterEach(async () => {
    for (const clean of cleanUp.splice(0)) await clean();
  });

  return async function open(
    handlers: Readonly<Record<string, string>>,
    options: Partial<LocalDispatcherOptions> = {},
  ) {
    const root = await mkdtemp(path.join(tmpdir(), 'drover-test-'));
    const directory = path.join(root, 'handlers');
    for (const [name, code] of Object.entries(handlers)) {
      await mkdir(path.dirname(path.join(directory, name)), { recursive: true });
      await writeFile(path.join(directory, name), code);
    }
    const observed: LocalObservation[] = [];
    const seen = new Set<number>();
    const dispatcher = new LocalDispatcher({
      directory,
      driver: 'processes',
      maxPools: 8,
      idleMs: 60_000,
      environment: process.env,
      clock: systemClock,
      observe: (observation) => void observed.push(observation),
      maxWorkers: 2,
      stuckMs: 300,
      lingerMs: 500,
      ...options,
    });
    const notePids = (): number[] => {
      const { pids } = dispatcher;
      for (const pid of pids) seen.add(pid);
      return pids;
    };
    cleanUp.push(async () => {
      notePids();
      await dispatcher.stop();
      await rm(root, { recursive: true, force: true });
      if (options.driver !== 'threads') expect([...seen].filter(isAlive)).toEqual([]);
    });
    /** Calls the handler in that file and says what became of it. */
    const call = (handler: string, input?: unknown, changes: AttemptChanges = {}) => {
      const attempt = attemptOf(definitionOf({ handler, name: nameOf(handler) }), { input, ...changes });
      return Object.assign(dispatcher.dispatch(attempt), { attempt });
    };
    return { dispatcher, directory, root, observed, call, pids: notePids };
  };
}

function nameOf(handler: string): string {
  return handler.replaceAll(/[^a-z0-9]/gi, '-');
}
