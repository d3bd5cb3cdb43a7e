import { createTestDatabase } from '@drover/database/testing';
import { Child, eventually, isAlive } from '@drover/testkit';
import { describe, expect, it } from 'vitest';
import { freePorts } from '../support/free-ports.js';
import { logOf } from '../support/functions.js';
import { drover, plainEnvironment } from '../support/platform.js';

interface Started {
  readonly role: string;
  readonly workerId: string;
  readonly pid: number;
}

/** What a scale controller started so far, dead or alive. */
function startedBy(controller: Child, role: string): Started[] {
  return logOf(controller).flatMap((line) =>
    line.kind === 'process.started' && line['role'] === role
      ? [{ role, workerId: String(line['workerId']), pid: Number(line['pid']) }]
      : [],
  );
}

describe('drover scale-controller', () => {
  it('starts runtimes and placeholders for them, replaces what is killed, and ends all of them with itself', async () => {
    const database = await createTestDatabase();
    const [port = 0] = await freePorts(1);
    const controller = new Child(process.execPath, [drover, 'scale-controller'], {
      env: plainEnvironment({
        DATABASE_URL: database.url.reveal(),
        DROVER_SECRETS_KEY: 'c2VjcmV0LWtleS1vZi10aGUtdGVzdC0zMi1ieXRlcyE',
        DROVER_SCALE_LINK_PORT: String(port),
        DROVER_SCALE_LINK_TOKEN: 'token-of-the-test',
        DROVER_SCALE_RUNTIMES: '1',
        DROVER_PLACEHOLDERS_MIN: '2',
        DROVER_EMULATORS: 'off',
        DROVER_LOG_FORMAT: 'json',
      }),
    });
    const alive = (role: string): Started[] => startedBy(controller, role).filter(({ pid }) => isAlive(pid));
    try {
      await eventually(() => expect(alive('function-worker').length).toBeGreaterThanOrEqual(2));
      const [runtime] = alive('runtime');
      expect(alive('runtime')).toHaveLength(1);
      const [placeholder] = alive('function-worker');
      process.kill(placeholder?.pid ?? Number.NaN, 'SIGKILL');
      await eventually(() => expect(startedBy(controller, 'function-worker').length).toBeGreaterThanOrEqual(3));
      process.kill(runtime?.pid ?? Number.NaN, 'SIGKILL');
      await eventually(() => expect(startedBy(controller, 'runtime')).toHaveLength(2));
      await eventually(() => expect(alive('function-worker').length).toBeGreaterThanOrEqual(2));
      const everything = [...startedBy(controller, 'runtime'), ...startedBy(controller, 'function-worker')];
      controller.kill('SIGTERM');
      expect(await controller.exited).toEqual({ code: 0, signal: null });
      expect(everything.filter(({ pid }) => isAlive(pid))).toEqual([]);
    } finally {
      await controller.end();
      await database.drop();
    }
  });
});
