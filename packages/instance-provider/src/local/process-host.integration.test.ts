import { once } from 'node:events';
import { createServer, type AddressInfo } from 'node:net';
import { Leash, systemClock } from '@drover/service-kit';
import { eventually, isAlive } from '@drover/testkit';
import { afterEach, describe, expect, it } from 'vitest';
import type { InstanceSpec } from '../instance-provider.js';
import { channelPair } from '../testing/channel-pair.js';
import { instanceProviderContract, type ProviderUnderTest } from '../testing/instance-provider-contract.js';
import { LocalProcessProvider } from './local-process-provider.js';
import type { ProcessHostObservation } from './process-host-observations.js';
import { ProcessHost, type RoleProgram } from './process-host.js';
import { scriptedBehaviour, scriptedProgram } from './scripted-program.test.fixture.js';
import { serveInstances } from './serve-instances.js';

interface OpenHost {
  readonly host: ProcessHost;
  readonly observed: ProcessHostObservation[];
  /** Pids by instance, of what was started so far. */
  readonly pidOf: (instanceId: string) => number;
  readonly linesOf: (instanceId: string) => readonly string[];
  readonly close: () => Promise<void>;
}

const environment = { PATH: '/usr/bin:/bin' };

function openHost(program: RoleProgram): OpenHost {
  const observed: ProcessHostObservation[] = [];
  const leash = new Leash();
  const host = new ProcessHost({
    programs: { 'function-worker': program },
    leash,
    clock: systemClock,
    observe: (observation) => void observed.push(observation),
  });
  return {
    host,
    observed,
    pidOf: (instanceId) =>
      observed.flatMap((o) => (o.kind === 'process.started' && o.workerId === instanceId ? [o.pid ?? 0] : []))[0] ?? 0,
    linesOf: (instanceId) =>
      observed.flatMap((o) => (o.kind === 'process.line' && o.workerId === instanceId ? [o.text] : [])),
    close: async () => {
      for (const { instanceId } of await host.list()) await host.end(instanceId, 0, Number.MAX_SAFE_INTEGER);
      await host.stop();
      await leash.stop();
    },
  };
}

const scripted: RoleProgram = { command: scriptedProgram, environment, directory: '/' };

function underTest(open: OpenHost, rest: Pick<ProviderUnderTest, 'provider' | 'nextClient'>): ProviderUnderTest {
  return {
    ...rest,
    behave: scriptedBehaviour,
    ready: async (instanceId) => {
      await eventually(() => expect(open.linesOf(instanceId)).not.toEqual([]));
    },
    crash: async (instanceId) => void process.kill(open.pidOf(instanceId), 'SIGKILL'),
    close: () => open.close(),
  };
}

async function unusedPort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo; // of a TCP server that listens
  server.close();
  await once(server, 'close');
  return port;
}

instanceProviderContract('ProcessHost', async () => {
  const open = openHost(scripted);
  return underTest(open, { provider: open.host, nextClient: async () => open.host });
});

instanceProviderContract('LocalProcessProvider', async () => {
  const open = openHost(scripted);
  let end: () => void = () => undefined;
  const connect = (): LocalProcessProvider => {
    const pair = channelPair();
    const endService = serveInstances(open.host, pair.host);
    end = () => {
      pair.cut();
      endService();
    };
    return new LocalProcessProvider(pair.client);
  };
  return underTest(open, {
    provider: connect(),
    nextClient: async () => {
      end();
      return connect();
    },
  });
});

describe('ProcessHost', () => {
  const open: OpenHost[] = [];
  afterEach(async () => {
    for (const one of open.splice(0)) await one.close();
  });
  const opened = (program: RoleProgram): OpenHost => {
    const one = openHost(program);
    open.push(one);
    return one;
  };
  const node = (program: string): RoleProgram => ({
    command: { executable: process.execPath, args: ['-e', program, 'worker'] },
    environment,
    directory: '/',
  });
  const spec = (given: Partial<InstanceSpec> = {}): InstanceSpec => ({
    instanceId: 'one',
    role: 'function-worker',
    labels: {},
    environment: {},
    args: [],
    ...given,
  });
  const waits = 'setInterval(() => {}, 1000)';

  it('passes on what a program prints that has a log of its own', async () => {
    const lines: string[] = [];
    const program = node(`console.log('{"level":"info"}'); setInterval(() => undefined, 1_000)`);
    const { host, linesOf } = opened({ ...program, print: (line) => void lines.push(line) });
    await host.start(spec(), 1);
    await eventually(() => expect(lines).toEqual(['{"level":"info"}']));
    expect(linesOf('one')).toEqual([]);
  });

  it('gives a process its arguments and environment, those of the role and those of the instance', async () => {
    const { host, linesOf } = opened({
      command: scriptedProgram,
      environment: { ...environment, ROLE: 'of the role', BOTH: 'role' },
      directory: '/',
    });
    await host.start(spec({ args: ['--port', '1'] }), 1);
    await eventually(() => expect(linesOf('one')[0]).toMatch(/^up \d+ --port 1$/));
    const print = 'console.log(process.env.ROLE, process.env.BOTH, process.env.MINE, process.cwd())';
    const second = opened({
      ...node(`${print}; ${waits}`),
      environment: { ...environment, ROLE: 'of the role', BOTH: 'role' },
    });
    await second.host.start(spec({ environment: { BOTH: 'instance', MINE: 'yes' } }), 1);
    await eventually(() => expect(second.linesOf('one')).toEqual(['of the role instance yes /']));
  });

  it('limits the heap of a Node.js process, and passes options of the program before its file', async () => {
    const { host, linesOf } = opened(node(`console.log(process.execArgv.slice(0, 2).join(' ')); ${waits}`));
    await host.start(spec({ limits: { memoryMb: 64 }, programOptions: ['--no-deprecation'] }), 1);
    await eventually(() => expect(linesOf('one')).toEqual(['--max-old-space-size=64 --no-deprecation']));
  });

  it('lets a second process with a debugger listen on a port of its own', async () => {
    const { host, linesOf } = opened(node(`console.log(process.execArgv[0]); ${waits}`));
    for (const instanceId of ['one', 'two'])
      await host.start(spec({ instanceId, programOptions: ['--inspect=127.0.0.1:0'] }), 1);
    for (const instanceId of ['one', 'two'])
      await eventually(() => expect(linesOf(instanceId).join('\n')).toContain('Debugger listening on'));
    await eventually(() => expect(linesOf('one')).toContain('--inspect=127.0.0.1:0'));
    await eventually(() => expect(linesOf('two')).toContain('--inspect=0'));
  });

  it('gives the debug port to the newest version, once the version before has ended', async () => {
    const { host, linesOf } = opened(node(waits));
    const port = await unusedPort();
    const start = (instanceId: string, version: string): Promise<void> => {
      const labels = { 'drover.application': 'hello', 'drover.version': version };
      return host.start(spec({ instanceId, labels, programOptions: [`--inspect=127.0.0.1:${port}`] }), 1);
    };
    const listens = (instanceId: string): Promise<string> =>
      eventually(() => {
        const line = linesOf(instanceId).find((text) => text.startsWith('Debugger listening on'));
        return line ?? expect.unreachable();
      });
    await start('first', 'c1');
    expect(await listens('first')).toContain(`127.0.0.1:${port}/`);
    await start('next', 'c2');
    await start('sibling', 'c2');
    expect(await listens('sibling')).not.toContain(`:${port}/`);
    expect(linesOf('next')).toEqual([]);
    await host.end('first', 0, 1);
    expect(await listens('next')).toContain(`127.0.0.1:${port}/`);
    // Started and ended at once: the port goes to a process that has hardly begun.
    await start('last', 'c3');
    await host.end('next', 0, 1);
    expect(await listens('last')).toContain(`127.0.0.1:${port}/`);
    expect((await host.list()).map(({ instanceId, state }) => [instanceId, state])).toContainEqual(['last', 'running']);
  });

  it.runIf(process.platform === 'linux')(
    'measures what a process uses, in cores and as a share of its memory',
    async () => {
      const { host } = opened(
        node('setInterval(() => { const until = Date.now() + 40; while (Date.now() < until); }, 50)'),
      );
      await host.start(spec({ limits: { memoryMb: 100 } }), 1);
      const { usage } = await eventually(async () => {
        const [instance] = await host.list();
        expect(instance?.usage?.cpu).toBeGreaterThan(0);
        return instance ?? expect.unreachable();
      });
      expect(usage?.cpu).toBeLessThan(1.5);
      expect(usage?.memory).toBeGreaterThan(0.2);
      expect(usage?.memory).toBeLessThan(2);
    },
  );

  it('reports a program that does not exist as an instance that ended', async () => {
    const { host } = opened({ command: { executable: '/no/such/program', args: [] }, environment, directory: '/' });
    await host.start(spec(), 1);
    await eventually(async () =>
      expect(await host.list()).toMatchObject([
        { state: 'ended', end: { isClean: false, text: expect.stringContaining('ENOENT') as unknown } },
      ]),
    );
  });

  it('ends the children of a process with it: told to end, killed, or gone by itself', async () => {
    const program = {
      ...scriptedProgram,
      args: ['-c', `sleep 1000 & echo "child $!"; [ "$BEHAVIOUR" = brief ] && exit 0; wait`, 'parent'],
    };
    const { host, linesOf, pidOf } = opened({ command: program, environment, directory: '/' });
    const childOf = (id: string): Promise<number> =>
      eventually(() => {
        const pid = Number(/child (\d+)/.exec(linesOf(id).join('\n'))?.[1]);
        expect(pid).toBeGreaterThan(0);
        return pid;
      });
    await host.start(spec({ instanceId: 'told' }), 1);
    await host.start(spec({ instanceId: 'killed' }), 1);
    await host.start(spec({ instanceId: 'brief', ...scriptedBehaviour('brief') }), 1);
    const children = await Promise.all(['told', 'killed', 'brief'].map(childOf));
    await host.end('told', 10_000, 1);
    process.kill(pidOf('killed'), 'SIGKILL');
    await eventually(async () =>
      expect((await host.list()).map(({ state }) => state)).toEqual(['ended', 'ended', 'ended']),
    );
    await eventually(() => expect(children.filter(isAlive)).toEqual([]));
  });

  it('reports the end of a process although a stranger holds its pipes', async () => {
    // The grandchild leaves the group and is not killed with it.
    const program = `require('child_process').spawn('sleep', ['20'], { detached: true, stdio: 'inherit' }).unref()`;
    const leaves = `const child = ${program.replace('.unref()', '')}; console.log('pid ' + child.pid); child.unref()`;
    const { host, linesOf } = opened(node(leaves));
    await host.start(spec(), 1);
    await eventually(async () => expect(await host.list()).toMatchObject([{ state: 'ended', end: { isClean: true } }]));
    const stranger = Number(/pid (\d+)/.exec(linesOf('one').join('\n'))?.[1]);
    expect(isAlive(stranger)).toBe(true);
    process.kill(stranger, 'SIGKILL');
  });

  it('refuses instances once it stops, and ends every one, stubborn ones too', async () => {
    const { host, linesOf, pidOf } = opened(scripted);
    for (const behaviour of ['stubborn', 'obedient'] as const)
      await host.start(spec({ instanceId: behaviour, ...scriptedBehaviour(behaviour) }), 1);
    await eventually(() => expect([linesOf('stubborn').length, linesOf('obedient').length]).toEqual([1, 1]));
    const stopped = host.stop();
    await expect(host.start(spec(), 1)).rejects.toMatchObject({ code: 'INSTANCE_REFUSED' });
    await host.end('stubborn', 0, 1);
    await stopped;
    expect(['stubborn', 'obedient'].map(pidOf).filter(isAlive)).toEqual([]);
  });

  it('lists a process that ends while the platform stops as it was, and tells no listener', async () => {
    const { host, linesOf, pidOf, observed } = opened(scripted);
    await host.start(spec(scriptedBehaviour('obedient')), 1);
    await eventually(() => expect(linesOf('one')).toHaveLength(1));
    const told: unknown[] = [];
    host.subscribe((event) => void told.push(event));
    host.stopReporting();
    process.kill(pidOf('one'), 'SIGTERM');
    await eventually(() => expect(observed.at(-1)).toMatchObject({ kind: 'process.ended', isClean: true }));
    expect(await host.list()).toMatchObject([{ instanceId: 'one', state: 'running' }]);
    expect(told).toEqual([]);
    await host.stop();
  });

  it('reports a fenced call once, for the log of the machine', async () => {
    const { host, observed } = opened(scripted);
    await host.list(3);
    await expect(host.start(spec(), 2)).rejects.toMatchObject({ code: 'INSTANCE_FENCED' });
    expect(observed).toEqual([{ kind: 'process.fenced', call: 'start', instanceId: 'one', token: 2 }]);
  });
});
