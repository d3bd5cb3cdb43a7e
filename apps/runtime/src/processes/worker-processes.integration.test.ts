import { eventually, isAlive } from '@drover/testkit';
import { Leash, systemClock, systemRandomness } from '@drover/service-kit';
import { afterEach, describe, expect, it } from 'vitest';
import type { ApplicationVersion } from '../deployments/application-version.js';
import type { RuntimeObservation } from '../observations.js';
import { Admission, type ExpectedWorker } from '../rpc/admission.js';
import { WorkerProcesses } from './worker-processes.js';

const version: ApplicationVersion = {
  tenantId: 't',
  applicationId: 'app',
  codeVersion: 'v1',
  directory: process.cwd(),
  environment: { PATH: process.env['PATH'] ?? '', GREETING: 'hello' },
};

const closing: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0)) await close();
});

function open(program: string, count = 1, connectWithinMs = 60_000) {
  const observed: RuntimeObservation[] = [];
  const announced: ExpectedWorker[] = [];
  class Recording extends Admission {
    override expect(worker: ExpectedWorker): void {
      announced.push(worker);
      super.expect(worker);
    }
  }
  const leash = new Leash();
  const processes = new WorkerProcesses({
    command: { executable: process.execPath, args: ['-e', program, 'worker'] },
    leash,
    count,
    admission: new Recording(),
    address: () => ({ host: '127.0.0.1', port: 1 }),
    maxMessageBytes: 1_000,
    graceMs: 500,
    connectWithinMs,
    clock: systemClock,
    randomness: systemRandomness,
    observe: (observation) => void observed.push(observation),
  });
  closing.push(async () => {
    await processes.stop();
    await leash.stop();
  });
  const pids = (): number[] =>
    observed.flatMap((seen) => (seen.kind === 'process.started' && seen.pid !== undefined ? [seen.pid] : []));
  const lines = (): string[] => observed.flatMap((seen) => (seen.kind === 'process.line' ? [seen.text] : []));
  return { processes, observed, announced, pids, lines };
}

const waits = 'setInterval(() => {}, 1000)';

describe('worker processes', () => {
  it('get their environment and what they need to find us, and what they print is told', async () => {
    const { processes, announced, lines } = open(`console.log(process.env.GREETING, process.argv.join(' ')); ${waits}`);
    processes.run(version);
    await eventually(() => expect(lines()).toHaveLength(1));
    const [one] = announced;
    expect(one?.applicationKey).toBe('t/app:v1');
    expect(lines()[0]).toContain(`hello`);
    expect(lines()[0]).toContain(`--functions-worker-id ${one?.workerId} --functions-request-id ${one?.requestId}`);
  });

  it('keep their number: a killed process is replaced', async () => {
    const { processes, pids } = open(waits, 2);
    processes.run(version);
    expect(pids()).toHaveLength(2);
    const [first = 0] = pids();
    process.kill(first, 'SIGKILL');
    await eventually(() => expect(pids()).toHaveLength(3));
    expect(pids().filter(isAlive)).toHaveLength(2);
  });

  it('are not replaced while they are held back, and all there again afterwards', async () => {
    const { processes, observed, pids } = open(waits, 2);
    processes.run(version);
    processes.suspendStarts();
    for (const pid of pids()) process.kill(pid, 'SIGKILL');
    await eventually(() => expect(observed.filter(({ kind }) => kind === 'process.ended')).toHaveLength(2));
    expect(pids()).toHaveLength(2);
    processes.resumeStarts();
    expect(pids()).toHaveLength(4);
    expect(pids().filter(isAlive)).toHaveLength(2);
  });

  it('that never connect are ended and replaced', async () => {
    const { processes, observed, pids } = open(waits, 1, 200);
    processes.run(version);
    await eventually(() => expect(pids().length).toBeGreaterThan(1));
    expect(isAlive(pids()[0] ?? 0)).toBe(false);
    expect(observed.map(({ kind }) => kind)).toContain('process.unconnected');
  });

  it('that lost their stream are ended, after the time to end by themselves, and replaced', async () => {
    const { processes, announced, pids } = open(`process.on('SIGTERM', () => {}); ${waits}`);
    processes.run(version);
    const [first = 0] = pids();
    processes.endWorker(announced[0]?.workerId ?? '', 'its stream is lost', 50);
    expect(isAlive(first)).toBe(true);
    await eventually(() => expect(pids()).toHaveLength(2));
    expect(isAlive(first)).toBe(false);
  });

  it('run the isolated one beyond their number, for as long as it is wanted', async () => {
    const { processes, announced, pids } = open(waits);
    processes.run(version);
    expect(processes.isolate('t/app:v1')).toBe(true);
    expect(processes.isolate('t/app:v1')).toBe(true);
    await eventually(() => expect(pids()).toHaveLength(2));
    expect(announced.map(({ traits }) => traits?.isIsolated)).toEqual([false, true]);
    process.kill(pids()[1] ?? 0, 'SIGKILL');
    await eventually(() => expect(pids()).toHaveLength(3));
    expect(announced[2]?.traits?.isIsolated).toBe(true);
    processes.endIsolation('t/app:v1');
    process.kill(pids()[2] ?? 0, 'SIGKILL');
    process.kill(pids()[0] ?? 0, 'SIGKILL');
    await eventually(() => expect(pids()).toHaveLength(4));
    expect(announced[3]?.traits?.isIsolated).toBe(false);
    expect(processes.isolate('t/other:v1')).toBe(false);
  });

  it('listen for a debugger as the app says, on a port of their own if several do', async () => {
    const { processes, lines } = open(`console.log(process.execArgv.join(' ')); ${waits}`, 2);
    const environment = {
      ...version.environment,
      languageWorkers__node__arguments: '--inspect=127.0.0.1:0 --no-deprecation',
    };
    processes.run({ ...version, environment });
    await eventually(() => expect(lines().filter((line) => line.startsWith('--inspect'))).toHaveLength(2));
    expect(lines().filter((line) => line.startsWith('Debugger listening on'))).toHaveLength(2);
  });

  it('that ask for a restart before one is ready do not get it for ever', async () => {
    const { processes, observed } = open('process.exit(200)');
    processes.run(version);
    await eventually(() => expect(observed.some(({ kind }) => kind === 'process.given-up')).toBe(true));
  });

  it('that die at their start are started again every few seconds, and it is said why', async () => {
    const { processes, observed, pids } = open('console.error("TypeError: cannot read"); process.exit(1)');
    const failing: string[] = [];
    processes.run(version, (text) => failing.push(text));
    await eventually(() => expect(observed.some(({ kind }) => kind === 'process.given-up')).toBe(true));
    expect(failing).toEqual([expect.stringContaining('TypeError: cannot read')]);
    expect(processes.readyInMs('t/app:v1')).toBeGreaterThan(0);
    expect(observed.find(({ kind }) => kind === 'process.given-up')).toMatchObject({
      application: 't/app:v1',
      text: expect.stringContaining('TypeError: cannot read') as unknown,
    });
    expect(pids()).toHaveLength(3);
    await eventually(() => expect(pids().length).toBeGreaterThan(4));
    expect(failing).toHaveLength(1);
  });

  it('are all gone after stop, those that ignore it and their children too', async () => {
    const stubborn = `process.on('SIGTERM', () => {}); require('child_process').spawn('sleep', ['100']); console.log('up'); ${waits}`;
    const { processes, pids, lines } = open(stubborn, 2);
    processes.run(version);
    await eventually(() => expect(lines()).toEqual(['up', 'up']));
    await processes.stop();
    await eventually(() => expect(pids().filter(isAlive)).toEqual([]));
  });
});
