import { Leash, systemClock } from '@drover/service-kit';
import { Child, eventually, isAlive } from '@drover/testkit';
import { afterEach, describe, expect, it } from 'vitest';
import { ipcInstanceChannel } from './instance-channel.js';
import type { ProcessHostObservation } from './process-host-observations.js';
import { ProcessHost } from './process-host.js';
import { scriptedProgram } from './scripted-program.test.fixture.js';
import { serveInstances } from './serve-instances.js';

const indexUrl = new URL('../../dist/index.js', import.meta.url).href;
const environment = { PATH: '/usr/bin:/bin' };

/**
 * A scale controller reduced to its provider: leads with a token, adopts what runs, and prints the outcome of each line of JSON
 * that it gets over IPC.
 */
const clientProgram = `
  import { ipcInstanceChannel, LocalProcessProvider } from ${JSON.stringify(indexUrl)};
  const provider = new LocalProcessProvider(ipcInstanceChannel(process));
  const say = (word, value) => process.stdout.write(word + ' ' + JSON.stringify(value) + '\\n');
  const spec = (instanceId) => ({ instanceId, role: 'function-worker', labels: { pool: 'p' }, environment: {}, args: [] });
  process.on('message', ({ call, args }) => {
    if (!call) return;
    const run = call === 'start' ? provider.start(spec(args[0]), args[1]) : provider[call](...args);
    run.then((value) => say(call, value ?? 'done'), (error) => say(call, error.code));
  });
  say('up', true);
`;

const children: Child[] = [];
const closing: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const child of children.splice(0)) await child.end();
  for (const close of closing.splice(0)) await close();
});

function openHost() {
  const observed: ProcessHostObservation[] = [];
  const leash = new Leash();
  const host = new ProcessHost({
    programs: { 'function-worker': { command: scriptedProgram, environment, directory: '/' } },
    leash,
    clock: systemClock,
    observe: (observation) => void observed.push(observation),
  });
  closing.push(async () => {
    await host.stop();
    await leash.stop();
  });
  const pids = (): number[] => observed.flatMap((o) => (o.kind === 'process.started' ? [o.pid ?? 0] : []));
  return { host, pids };
}

/** A client in a process of its own, as the platform process of `drover up` is. */
async function openClient(host: ProcessHost) {
  const child = new Child(process.execPath, ['--input-type=module', '-e', clientProgram], {
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
  });
  children.push(child);
  const end = serveInstances(host, ipcInstanceChannel(child.process));
  child.process.once('exit', end);
  await child.line(/^up/);
  const send = (call: string, ...args: readonly unknown[]): void => void child.process.send({ call, args });
  const call = async (name: string, ...args: readonly unknown[]): Promise<unknown> => {
    const before = child.stdout.length;
    send(name, ...args);
    const line = await eventually(() => {
      const found = child.stdout.slice(before).find((text) => text.startsWith(`${name} `));
      if (found === undefined) throw new Error(`no answer to ${name}: ${child.output}`);
      return found;
    });
    return JSON.parse(line.slice(name.length + 1));
  };
  return { child, send, call };
}

describe('instances on one machine', () => {
  it('outlive a killed client: the next one adopts them, starts nothing twice and ends them', async () => {
    const { host, pids } = openHost();
    const first = await openClient(host);
    for (const instanceId of ['a', 'b', 'c']) expect(await first.call('start', instanceId, 1)).toBe('done');
    // Killed while a start is on its way: it was taken, or it was not; the next client sees which.
    first.send('start', 'd', 1);
    first.child.kill('SIGKILL');
    await first.child.exited;
    expect(pids().slice(0, 3).map(isAlive)).toEqual([true, true, true]);
    const second = await openClient(host);
    const adopted = (await second.call('list', 2)) as { instanceId: string; labels: object; state: string }[];
    expect(adopted.slice(0, 3)).toMatchObject(
      ['a', 'b', 'c'].map((instanceId) => ({ instanceId, labels: { pool: 'p' }, state: 'running' })),
    );
    for (const instanceId of ['a', 'b', 'c', 'd']) expect(await second.call('start', instanceId, 2)).toBe('done');
    expect(pids()).toHaveLength(4);
    for (const instanceId of ['a', 'b', 'c', 'd']) expect(await second.call('end', instanceId, 5_000, 2)).toBe('done');
    await eventually(() => expect(pids().filter(isAlive)).toEqual([]));
  });

  it('obey no leader that was paused while another took over', async () => {
    const { host, pids } = openHost();
    const old = await openClient(host);
    expect(await old.call('start', 'a', 1)).toBe('done');
    old.child.kill('SIGSTOP');
    for (const [call, ...args] of [
      ['start', 'late', 1],
      ['end', 'a', 0, 1],
      ['forget', 'a', 1],
    ] as const)
      old.send(call, ...args);
    const next = await openClient(host);
    expect(await next.call('list', 2)).toMatchObject([{ instanceId: 'a', state: 'running' }]);
    old.child.kill('SIGCONT');
    await eventually(() =>
      expect(old.child.stdout.slice(-3).toSorted()).toEqual([
        'end "INSTANCE_FENCED"',
        'forget "INSTANCE_FENCED"',
        'start "INSTANCE_FENCED"',
      ]),
    );
    expect(pids()).toHaveLength(1);
    expect(pids().map(isAlive)).toEqual([true]);
  });

  it('end, all at once, when the process that hosts them is killed', async () => {
    const program = `
      import { Leash, systemClock } from ${JSON.stringify(import.meta.resolve('@drover/service-kit'))};
      import { ProcessHost } from ${JSON.stringify(indexUrl)};
      const host = new ProcessHost({
        programs: { 'function-worker': ${JSON.stringify({ command: scriptedProgram, environment, directory: '/' })} },
        leash: new Leash(),
        clock: systemClock,
        observe: (o) => { if (o.kind === 'process.line') process.stdout.write(o.text + '\\n'); },
      });
      for (let index = 0; index < 20; index += 1) {
        const environment = { BEHAVIOUR: index % 2 === 0 ? 'stubborn' : 'obedient' };
        await host.start({ instanceId: 'i' + index, role: 'function-worker', labels: {}, environment, args: [] }, 1);
      }
    `;
    const owner = new Child(process.execPath, ['--input-type=module', '-e', program]);
    children.push(owner);
    await eventually(() => expect(owner.stdout).toHaveLength(20));
    const pids = owner.stdout.map((line) => Number(line.split(' ')[1]));
    expect(pids.filter(isAlive)).toHaveLength(20);
    owner.kill('SIGKILL');
    await eventually(() => expect(pids.filter(isAlive)).toEqual([]));
  });
});
