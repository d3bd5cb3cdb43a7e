import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { CodedError } from '@drover/contracts';
import { eventually, isAlive, withScratchDirectory } from '@drover/testkit';
import { describe, expect, it } from 'vitest';
import { systemClock, type Clock } from '../time/clock.js';
import { systemRandomness } from '../time/randomness.js';
import { Leash } from './leash.js';
import type { SupervisedProcessObservation } from './supervised-process-observations.js';
import { SupervisedProcess } from './supervised-process.js';

const never = new AbortController().signal;
const ready = `process.send({ type: 'ready', announcement: { run: process.env.RUN ?? 'first' } });`;
const staysUp = `${ready} setInterval(() => undefined, 1000);`;

/** Waits pass ten times as fast; what counts is what was asked for. */
const hasty: Clock = { ...systemClock, after: (delayMs, action) => systemClock.after(delayMs / 10, action) };

interface Trial {
  readonly role: SupervisedProcess;
  readonly seen: SupervisedProcessObservation[];
  readonly lines: string[];
  readonly messages: unknown[];
  /** Launches and exits in their order. */
  readonly launches: string[];
}

/** A child that runs `source`, under supervision; gone afterwards. */
async function supervise(
  source: string,
  use: (trial: Trial) => Promise<void>,
  clock: Clock = systemClock,
): Promise<void> {
  await withScratchDirectory(async (scratch) => {
    const module = path.join(scratch, 'child.mjs');
    await writeFile(module, source);
    const leash = new Leash();
    const seen: SupervisedProcessObservation[] = [];
    const lines: string[] = [];
    const messages: unknown[] = [];
    const launches: string[] = [];
    const role = new SupervisedProcess({
      role: 'trial',
      module,
      environment: (earlier) => ({ PATH: process.env['PATH'], RUN: earlier ? `after ${earlier['run']}` : 'first' }),
      onLine: (line) => lines.push(line),
      onMessage: (message) => messages.push(message),
      onLaunch: (child) => {
        launches.push(`launched ${child.pid}`);
        return () => launches.push(`exited ${child.pid}`);
      },
      failed: (reason) =>
        new CodedError('TRIAL_FAILED', { fault: 'platform', retryable: true, status: 503 }, reason, { reason }),
      leash,
      clock,
      randomness: systemRandomness,
      observe: (o) => void seen.push(o),
    });
    try {
      await use({ role, seen, lines, messages, launches });
    } finally {
      await role.stop();
      await leash.stop();
    }
  });
}

const pidOf = (role: SupervisedProcess): number => role.pid ?? expect.unreachable('no process');

describe('SupervisedProcess', () => {
  it('is started when it says so, and its lines are heard', () =>
    supervise(`console.log('hello'); ${staysUp}`, async ({ role, lines }) => {
      await role.start(never);
      expect(role.announcement).toEqual({ run: 'first' });
      await eventually(() => expect(lines).toContain('hello'));
    }));

  it('hands over the messages that are not reports', () =>
    supervise(`process.send({ type: 'wish', wish: 'ports' }); ${staysUp}`, async ({ role, messages }) => {
      await role.start(never);
      await eventually(() => expect(messages).toEqual([{ type: 'wish', wish: 'ports' }]));
    }));

  it('tells of each process when it is launched, and when it has exited', () =>
    supervise(staysUp, async ({ role, launches }) => {
      await role.start(never);
      const first = pidOf(role);
      expect(launches).toEqual([`launched ${first}`]);
      process.kill(first, 'SIGKILL');
      await eventually(() => expect(launches).toHaveLength(3));
      expect(launches).toEqual([`launched ${first}`, `exited ${first}`, `launched ${role.pid}`]);
    }));

  it('is started again when it dies, and learns what the one before it had chosen', () =>
    supervise(staysUp, async ({ role, seen }) => {
      await role.start(never);
      const first = pidOf(role);
      process.kill(first, 'SIGKILL');
      await eventually(() => expect(role.announcement).toEqual({ run: 'after first' }));
      expect(pidOf(role)).not.toBe(first);
      expect(seen.map(({ kind }) => kind)).toEqual(['up.ready', 'up.lost', 'up.ready']);
    }));

  it('waits longer and longer while it keeps dying', () =>
    supervise(
      `${ready} setImmediate(() => process.exit(3));`,
      async ({ role, seen }) => {
        await role.start(never);
        const delays = (): number[] => seen.flatMap((o) => (o.kind === 'up.lost' ? [o.delayMs] : []));
        await eventually(() => delays().length >= 5);
        const [first = 0, , third = 0, , fifth = 0] = delays();
        expect(third).toBeGreaterThan(first);
        expect(fifth).toBeGreaterThan(third);
      },
      hasty,
    ));

  it('fails its first start with the reason and the code that the process itself gave', () =>
    supervise(
      `process.send({ type: 'failed', code: 'PORT_TAKEN', message: 'port 1 is taken' }, () => process.exit(1));`,
      async ({ role }) => {
        await expect(role.start(never)).rejects.toMatchObject({ code: 'PORT_TAKEN', message: 'port 1 is taken' });
        expect(role.pid).toBeUndefined();
      },
    ));

  it.each([
    ['it is killed', `process.kill(process.pid, 'SIGKILL');`, 'SIGKILL'],
    ['it crashes', `process.exit(7);`, 'exit code 7'],
    [
      'its database is away',
      `process.send({ type: 'failed', code: 'AWAY', message: 'the database is away', retryable: true }, () => process.exit(1));`,
      'the database is away',
    ],
  ])('is started again when %s during its first start', (_, fails, reason) =>
    supervise(
      `import { existsSync, writeFileSync } from 'node:fs';
       const mark = new URL('mark', import.meta.url);
       if (existsSync(mark)) { ${staysUp} } else { writeFileSync(mark, ''); ${fails} }`,
      async ({ role, seen }) => {
        await role.start(never);
        expect(role.announcement).toEqual({ run: 'first' });
        expect(seen).toMatchObject([
          { kind: 'up.lost', reason: expect.stringContaining(reason) },
          { kind: 'up.ready' },
        ]);
      },
    ),
  );

  it('fails its first start in the end, and says how it ended when it could give no reason', () =>
    supervise(
      `process.kill(process.pid, 'SIGSEGV');`,
      async ({ role, seen }) => {
        await expect(role.start(never)).rejects.toMatchObject({
          code: 'TRIAL_FAILED',
          message: expect.stringContaining('SIGSEGV'),
        });
        expect(seen).toHaveLength(5);
      },
      hasty,
    ));

  it('does not start again when it is stopped while it waits for its next attempt', () =>
    supervise(`process.kill(process.pid, 'SIGKILL');`, async ({ role, seen }) => {
      const starting = role.start(never).catch((error: unknown) => error);
      await eventually(() => seen.length > 0);
      await role.stop();
      expect(await starting).toMatchObject({ code: 'TRIAL_FAILED' });
      expect(role.pid).toBeUndefined();
    }));

  it('may finish its work when it is drained, and is killed at the deadline when it does not', () =>
    supervise(`process.on('SIGTERM', () => console.log('no')); ${staysUp}`, async ({ role, lines }) => {
      await role.start(never);
      const pid = pidOf(role);
      const deadline = new AbortController();
      const drained = role.drain(deadline.signal);
      await eventually(() => expect(lines).toContain('no'));
      expect(isAlive(pid)).toBe(true);
      deadline.abort();
      await drained;
      expect(isAlive(pid)).toBe(false);
    }));

  it('is not started again after it was stopped, however it ended', () =>
    supervise(staysUp, async ({ role, seen }) => {
      await role.start(never);
      const pid = pidOf(role);
      await Promise.all([role.stop(), role.stop()]);
      expect(isAlive(pid)).toBe(false);
      expect(seen.map(({ kind }) => kind)).toEqual(['up.ready']);
    }));

  it('gives up its start when asked to', () =>
    supervise(`setInterval(() => undefined, 1000);`, async ({ role }) => {
      const giveUp = new AbortController();
      const starting = role.start(giveUp.signal);
      await eventually(() => role.pid !== undefined);
      giveUp.abort();
      await expect(starting).rejects.toMatchObject({ code: 'TRIAL_FAILED' });
    }));
});
