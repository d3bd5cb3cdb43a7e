import { createHash, randomBytes } from 'node:crypto';
import { readFile, stat } from 'node:fs/promises';
import { Agent, get } from 'node:http';
import { text as textOf } from 'node:stream/consumers';
import { eventually, isAlive, type Child } from '@drover/testkit';
import { describe, expect, it } from 'vitest';
import { answerOf, app, helloApp, Load, logOf, msUntil, workersOf } from '../support/functions.js';
import { processesOf, readyLine, startUp, type ReadyLine } from '../support/platform.js';
import { sharedPlatform } from '../support/shared-platform.js';

/** Each application has exactly one function worker, and there are no others. */
const noPlaceholders = { DROVER_WORKERS: '1', DROVER_PLACEHOLDERS_MIN: '0', DROVER_PLACEHOLDERS_MAX: '0' };
/** Everything that one `drover up` starts has this in its environment, function workers included. */
const mark = (directory: string): NodeJS.ProcessEnv => ({ E2E_MARK: directory, ...noPlaceholders });

function getText(url: string, agent: Agent): Promise<string> {
  return new Promise((resolve, reject) => {
    get(url, { agent, signal: AbortSignal.timeout(60_000) }, (answer) => resolve(textOf(answer))).once('error', reject);
  });
}

/** One platform with three apps; each test but the last two leaves it serving. */
describe('drover up --app', () => {
  let directory = '';
  let up: Child;
  let ready: ReadyLine;
  sharedPlatform(async (scratch, started) => {
    directory = scratch;
    up = started(
      startUp(scratch, { args: ['--app', helloApp, app('busy'), app('rooted'), '--json'], env: mark(scratch) }),
    );
    ready = await readyLine(up);
  });

  const call = (address: string, init: RequestInit = {}): Promise<Response> =>
    fetch(`${ready.urls.public}/api/${address}`, { signal: AbortSignal.timeout(60_000), ...init });
  const text = async (address: string, init?: RequestInit): Promise<string> => (await call(address, init)).text();

  it('says where everything is, once it serves', async () => {
    expect(ready.urls).toEqual({
      public: expect.stringMatching(/^http:\/\/127\.0\.0\.1:\d+$/),
      functionRpc: expect.stringMatching(/^https:\/\/.+:\d+$/),
      functionRpcLoopback: expect.stringMatching(/^http:\/\/127\.0\.0\.1:\d+$/),
    });
    expect(ready.pids).toEqual({
      platform: expect.any(Number),
      'runtime-1': expect.any(Number),
      'collection-worker-1': expect.any(Number),
      'collection-worker-2': expect.any(Number),
      postgres: expect.any(Number),
    });
    for (const pid of Object.values(ready.pids)) expect(isAlive(pid)).toBe(true);
    // One for each application; the next placeholder may be there already.
    await eventually(() => expect(workersOf(up).length).toBeOneOf([3, 4]));
  });

  it('serves an app without a route prefix, and keeps the paths of the platform', async () => {
    const { public: url } = ready.urls;
    const get = async (address: string): Promise<[number, string]> => {
      const answer = await fetch(`${url}${address}`);
      return [answer.status, await answer.text()];
    };
    expect(await get('/orders/7?x=1')).toEqual([200, 'order 7']);
    expect((await get('/locked'))[0]).toBe(401);
    expect((await get('/v1/functions'))[1]).not.toBe('hidden');
    for (const address of ['/healthz', '/readyz', '/openapi.json']) expect((await get(address))[0]).toBe(200);
    for (const address of ['/v1/functions', '/control/whoami', '/metrics']) expect((await get(address))[0]).toBe(401);
    const shown = new Map(ready.functions.map((one) => [one.name, one]));
    expect(shown.get('order')).toMatchObject({ methods: ['GET'], url: `${url}/orders/{id}`, application: 'rooted' });
    expect(shown.get('hello')?.url).toBe(`${url}/api/hello/{name?}`);
    expect(shown.get('hidden')?.url).toBeUndefined();
    const warnings = logOf(up).filter(({ kind }) => kind === 'application.warning');
    expect(warnings.map(({ msg }) => msg)).toEqual([
      'rooted: host.json: has unknown options, which are ignored: mcp (it belongs at extensions.mcp), extensions.ofTheFuture',
    ]);
  });

  it('serves all apps behind the public port, and refuses in one shape what none of them has', async () => {
    expect(await (await call('hello/you')).json()).toEqual({ hello: 'you' });
    expect(await (await call('hello', { method: 'POST', body: 'poster' })).json()).toEqual({ hello: 'poster' });
    expect(await (await call('hello')).json()).toEqual({ hello: 'world' });
    expect(await text('pid')).toMatch(/^\d+$/);
    const unknown = await call('nobody/has/this');
    expect(unknown.status).toBe(404);
    expect(unknown.headers.get('content-type')).toContain('application/json');
    expect(await unknown.json()).toEqual({
      error: 'FUNCTION_NOT_FOUND',
      message: 'No function has a route for GET /api/nobody/has/this. Check the method and the path.',
      requestId: expect.any(String),
    });
    expect((await call('hello/you', { method: 'DELETE' })).status).toBe(404);
  });

  it('passes a kept connection to the runtime, which serves it without the platform process', async () => {
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    const ask = (path: string): Promise<string> => getText(`${ready.urls.public}${path}`, agent);
    try {
      for (const name of ['one', 'two', 'three']) expect(await ask(`/api/hello/${name}`)).toBe(`{"hello":"${name}"}`);
      process.kill(ready.pids['platform'] ?? Number.NaN, 'SIGSTOP');
      try {
        expect(await ask('/api/hello/direct')).toBe('{"hello":"direct"}');
      } finally {
        process.kill(ready.pids['platform'] ?? Number.NaN, 'SIGCONT');
      }
      expect(await ask('/healthz')).toContain('"status"');
      expect(await ask('/api/hello/again')).toBe('{"hello":"again"}');
    } finally {
      agent.destroy();
    }
  });

  it('passes 5 MiB there and back, byte by byte', async () => {
    const body = randomBytes(5 * 1_048_576);
    const answer = await call('echo', { method: 'POST', body });
    expect(answer.status).toBe(200);
    const echoed = Buffer.from(await answer.arrayBuffer());
    expect(echoed.length).toBe(body.length);
    expect(sha256(echoed)).toBe(sha256(body));
  });

  it('answers 200 requests at once', async () => {
    const names = Array.from({ length: 200 }, (_, n) => `caller-${n}`);
    const answers = await Promise.all(names.map(async (name) => (await call(`hello/${name}`)).json()));
    expect(answers).toEqual(names.map((name) => ({ hello: name })));
  });

  it('asks for keys where the app does, and keeps the admin API for callers with the master key', async () => {
    const masterKey = (await readFile(`${directory}/functions-master-key`, 'utf8')).trim();
    expect((await call('keyed')).status).toBe(401);
    expect(await text('keyed', { headers: { 'x-functions-key': masterKey } })).toBe('opened');

    const runtimeUrl = String(
      logOf(up).find(({ kind, process }) => kind === 'http.listening' && process === 'runtime-1')?.['url'],
    );
    for (const base of [runtimeUrl, ready.urls.public])
      for (const address of ['/admin/host/status', '/admin/functions', '/admin/host/keys', '/admin/keys']) {
        expect((await fetch(`${base}${address}`)).status).toBe(401);
        expect((await fetch(`${base}${address}`, { headers: { 'x-functions-key': 'guessed' } })).status).toBe(401);
        expect((await fetch(`${base}${address}`, { headers: { 'x-functions-key': masterKey } })).status).toBe(200);
      }
    const listed = await fetch(`${ready.urls.public}/admin/functions`, { headers: { 'x-functions-key': masterKey } });
    const functions = (await listed.json()) as { readonly application: string; readonly invoke_url_template: string }[];
    expect(new Set(functions.map(({ application }) => application))).toEqual(new Set(['hello-app', 'busy', 'rooted']));
    expect(functions.map((one) => one.invoke_url_template)).toContain(`${ready.urls.public}/orders/{id}`);
    expect(up.output).not.toContain(masterKey);
    for (const file of ['functions-master-key', 'certificates/authority.json'])
      expect((await stat(`${directory}/${file}`)).mode & 0o777).toBe(0o600);
    for (const worker of workersOf(up)) {
      const environment = await readFile(`/proc/${worker}/environ`, 'utf8');
      expect(environment).not.toMatch(/\0(DROVER_|DATABASE_)/);
      expect(environment).not.toContain(masterKey);
    }
  });

  it('replaces a function worker that is killed; only what it had fails, and no caller hangs', async ({ annotate }) => {
    for (let round = 1; round <= 2; round += 1) {
      const victim = Number(await text('pid'));
      expect(workersOf(up)).toContain(victim);
      const load = new Load(() => call('slow/50'), { atOnce: 8 });
      await eventually(() => load.answers.length >= 8);
      const killedMs = Date.now();
      process.kill(victim, 'SIGKILL');
      const lostMs = await eventually(() => msUntil(up, 'worker.lost', killedMs));
      const replacedMs = await eventually(() => msUntil(up, 'worker.specialized', killedMs));
      const before = load.answers.length;
      await eventually(() => load.answers.length > before + 16);
      await load.stop();
      expect(load.answers.at(-1)?.status).toBe(200);
      expect(load.statuses.filter((status) => ![200, 500, 502, 503].includes(status))).toEqual([]);
      const failed = load.answers.filter(({ status }) => status !== 200);
      expect(failed.length).toBeGreaterThan(0);
      expect(failed.length).toBeLessThanOrEqual(8);
      expect(Number(await text('pid'))).not.toBe(victim);
      await annotate(
        `round ${round}: out of routing after ${lostMs} ms, replaced after ${replacedMs} ms, ${failed.length} failed`,
      );
    }
  });

  it('starts a killed runtime again where it was, and replaces the function worker that cannot come back', async () => {
    const [pid, busy] = [runtimePid(), Number(await text('pid'))];
    const spinning = answerOf(() => call('spin'));
    await up.line(/spin begins/);
    process.kill(pid, 'SIGKILL');
    // Its connection closes with the runtime if it was passed to the runtime; the gateway answers otherwise.
    expect((await spinning).status).toBeOneOf([0, 500, 502, 503]);
    await eventually(() => expect(isAlive(busy)).toBe(false));
    await eventually(async () => expect(await text('pid')).toMatch(/^\d+$/));
    expect(await (await call('hello/again')).json()).toEqual({ hello: 'again' });
    const urls = logOf(up).flatMap(({ kind, process, url }) =>
      kind === 'http.listening' && process === 'runtime-1' ? [url] : [],
    );
    expect(urls).toHaveLength(2);
    expect(urls[1]).toBe(urls[0]);
    expect(up.output).toContain('runtime-1 exited (SIGKILL) and restarts');
  });

  it('finishes what runs when it is told to stop, and exits with 0', async () => {
    const begun = up.output.split('slow begins').length;
    const running = call('slow/1500');
    await eventually(() => expect(up.output.split('slow begins').length).toBeGreaterThan(begun));
    up.kill('SIGTERM');
    const answer = await running;
    expect(answer.status).toBe(200);
    expect(await answer.text()).toBe('slow ended');
    expect(await up.exited).toEqual({ code: 0, signal: null });
    expect(processesOf(directory)).toEqual([]);
  });

  it('leaves nothing behind when it is killed itself, not even a function that never ends', async () => {
    up.kill('SIGTERM');
    await up.exited;
    // What is left of it still lets requests finish; this one never will.
    const env = { ...mark(directory), DROVER_DRAIN_TIMEOUT_MS: '1000', DROVER_WORKER_TERMINATE_GRACE_MS: '500' };
    const next = startUp(directory, { args: ['--app', app('busy'), '--json'], env });
    try {
      const { urls, pids } = await readyLine(next);
      void answerOf(() => fetch(`${urls.public}/api/spin`));
      await next.line(/spin begins/);
      const all = [...Object.values(pids), ...workersOf(next)];
      expect(all).toHaveLength(6);
      expect(processesOf(directory)).toEqual(expect.arrayContaining(all));
      next.kill('SIGKILL');
      await eventually(() => expect(processesOf(directory)).toEqual([]));
      expect(all.filter(isAlive)).toEqual([]);
    } finally {
      await next.end();
    }
  });

  function runtimePid(): number {
    const started = logOf(up).filter(({ kind, role }) => kind === 'up.ready' && role === 'runtime-1');
    return Number(started.at(-1)?.['pid']);
  }
});

function sha256(bytes: Buffer): string {
  return createHash('sha256').update(bytes).digest('hex');
}
