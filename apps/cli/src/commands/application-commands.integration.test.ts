import { mkdir, writeFile } from 'node:fs/promises';
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import { buffer } from 'node:stream/consumers';
import { withScratchDirectory } from '@drover/testkit';
import { describe, expect, it } from 'vitest';
import { runProgram } from '../program.js';

const [older, newer] = ['c0123456789abcdef', 'c0fedcba987654321'];
const view = (traffic: Record<string, number>) => ({
  name: 'hello',
  state: 'active',
  generation: 1,
  versions: [older, newer].map((version) => ({
    version,
    metadataVersion: 'm',
    trafficPercent: traffic[version] ?? 0,
    source: { kind: 'payload', digest: 'd'.repeat(64), bytes: 1 },
    functions: [{ name: 'greet', trigger: 'httpTrigger', isDisabled: false }],
    problems: [],
    settingNames: [],
    deployedAt: '2030-01-01T00:00:00.000Z',
    isRolledBack: false,
  })),
  traffic,
  scaling: { minWorkers: 1, maxWorkers: 5 },
  rollback: {},
});
const scaling = {
  application: 'hello',
  workers: { desired: 1, ready: 1, starting: 0, draining: 0 },
  why: 'The least number of workers is 1.',
  scaling: {},
  decisions: [],
};

const automaticRollback = {
  generation: 2,
  at: '2030-01-01T00:00:01.000Z',
  kind: 'rolled-back-automatically',
  traffic: { [older]: 100 },
  reason: '30 of 40 calls failed',
};

/** Answers of a platform with one application. */
function answerTo(method: string | undefined, url: string | undefined): unknown {
  if (url === '/v1/apps' && method === 'GET') return { applications: [view({ [newer]: 100 })] };
  if (url === '/control/route-clashes')
    return {
      clashes: [
        { path: '/api/orders', collection: 'orders', application: 'hello', function: 'f', route: 'api/orders' },
      ],
    };
  if (url?.endsWith('/payloads')) return { payload: 'e'.repeat(64), bytes: 5, files: 2 };
  if (url?.endsWith('/versions')) return { version: view({}).versions[1], application: view({ [newer]: 100 }) };
  if (url?.endsWith('/scaling') && method === 'GET') return scaling;
  if (url === '/v1/apps/failing')
    return { application: { ...view({ [older]: 100 }), generation: 2 }, changes: [automaticRollback] };
  if (method === 'GET') return { application: view({ [older]: 100 }), changes: [] };
  return view({ [newer]: 100 });
}

interface Call {
  readonly call: string;
  readonly type: string | undefined;
  readonly prefer: string | undefined;
  readonly body: Buffer;
}

/** Runs a command line against that platform. */
async function run(...argv: readonly string[]) {
  const calls: Call[] = [];
  const printed = { stdout: '', stderr: '' };
  const server = createServer((request: IncomingMessage, response) => {
    void buffer(request).then((body) => {
      const { 'content-type': type, prefer } = request.headers;
      calls.push({ call: `${request.method} ${request.url}`, type, prefer: prefer?.toString(), body });
      const isMade = request.method === 'POST' && /\/(payloads|versions)$/.test(request.url ?? '');
      const status = request.method === 'DELETE' ? 202 : isMade ? 201 : 200;
      const waits = request.url === '/v1/apps/slow/versions' ? { 'x-drover-waiting-for': 'gateway 1@there' } : {};
      response.writeHead(status, { 'content-type': 'application/json', ...waits });
      response.end(JSON.stringify(answerTo(request.method, request.url)));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo; // a TCP server that listens
  const env = { DROVER_URL: `http://127.0.0.1:${port}`, DROVER_API_KEY: 'drv_a_b' };
  const stream = (name: 'stdout' | 'stderr') => ({ write: (text: string) => (printed[name] += text) });
  const host = { env, stdout: stream('stdout'), stderr: stream('stderr'), exitCode: 0 };
  try {
    await runProgram(argv, host as unknown as NodeJS.Process); // all that the commands use
  } finally {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  }
  return { ...printed, exitCode: host.exitCode, calls, asked: calls.map(({ call }) => call) };
}

const jsonOf = ({ body }: Pick<Call, 'body'> = { body: Buffer.from('{}') }): unknown => JSON.parse(body.toString());

describe('drover deploy', () => {
  const withApp = (use: (directory: string) => Promise<void>): Promise<void> =>
    withScratchDirectory(async (scratch) => {
      const directory = path.join(scratch, 'My App');
      await mkdir(path.join(directory, 'src'), { recursive: true });
      await writeFile(path.join(directory, 'host.json'), '{}');
      await writeFile(path.join(directory, 'src/index.js'), '');
      await writeFile(path.join(directory, 'src/index.ts'), '');
      await writeFile(path.join(directory, '.funcignore'), '*.ts\n.funcignore\n');
      await writeFile(path.join(directory, 'local.settings.json'), '\uFEFF{ "Values": { "A": "file", "B": 2 } }');
      await use(directory);
    });

  it('uploads the folder as a zip, without what .funcignore lists, and deploys it', () =>
    withApp(async (directory) => {
      const { asked, calls, stdout, exitCode } = await run('deploy', directory);
      expect(asked).toEqual(['POST /v1/apps/My-App/payloads', 'POST /v1/apps/My-App/versions']);
      expect(calls[0]?.type).toBe('application/zip');
      const zip = calls[0]?.body.toString('latin1') ?? '';
      expect(zip.startsWith('PK')).toBe(true);
      expect(
        ['host.json', 'src/index.js', 'src/index.ts', 'local.settings.json'].map((name) => zip.includes(name)),
      ).toEqual([true, true, false, false]);
      expect(jsonOf(calls[1])).toEqual({ payload: 'e'.repeat(64) });
      expect(stdout).toBe(`My-App ${newer} is deployed: 1 function.\n  greet  httpTrigger\nTraffic: ${newer} 100 %\n`);
      expect(exitCode).toBe(0);
    }));

  it('fails for a version that is rolled back while it watches it, as it does by itself in CI', () =>
    withApp(async (directory) => {
      const kept = await run('deploy', directory, '--app', 'hello', '--watch-for', '1ms');
      expect(kept).toMatchObject({ exitCode: 0, stderr: expect.stringContaining(`${newer} was not rolled back.`) });
      expect(kept.asked.at(-1)).toBe('GET /v1/apps/hello');
      const failing = await run('deploy', directory, '--app', 'failing', '--watch-for', '1ms');
      expect(failing.exitCode).toBe(1);
      expect(failing.stderr).toContain(
        `The version ${newer} of failing was rolled back: 30 of 40 calls failed. Run "drover apps show failing"`,
      );
      const unwatched = await run('deploy', directory, '--app', 'failing');
      expect(unwatched).toMatchObject({ exitCode: 0, stderr: expect.stringContaining('--watch-for 30s') });
    }));

  it('says what a change waits for, or does not wait', () =>
    withApp(async (directory) => {
      const waiting = await run('deploy', directory, '--app', 'slow');
      expect(waiting).toMatchObject({ exitCode: 0, stderr: expect.stringContaining('Waiting for: gateway 1@there') });
      expect(waiting.calls.map(({ prefer }) => prefer)).toEqual([undefined, undefined]);
      const { calls } = await run('traffic', 'hello', 'c0f', '--no-wait');
      expect(calls.at(-1)?.prefer).toBe('respond-async');
    }));

  it('passes on name, traffic, settings and bounds; the command line overrides the file', () =>
    withApp(async (directory) => {
      const file = path.join(directory, 'local.settings.json');
      const options = '--app shop --traffic 10 --setting A=b=c --max-workers 3 --idle-seconds 60 --predictive off';
      const { asked, calls } = await run('deploy', directory, '--settings', file, ...options.split(' '));
      expect(asked[1]).toBe('POST /v1/apps/shop/versions');
      expect(jsonOf(calls[1])).toEqual({
        payload: 'e'.repeat(64),
        trafficPercent: 10,
        settings: { A: 'b=c', B: '2' },
        scaling: { maxWorkers: 3, idleMs: 60_000, isPredictive: false },
      });
    }));

  it('uploads a zip file as it is, and names a folder in place', () =>
    withApp(async (directory) => {
      const file = path.join(directory, 'shop.zip');
      await writeFile(file, 'not checked here');
      const zip = await run('deploy', file);
      expect(zip.asked[0]).toBe('POST /v1/apps/shop/payloads');
      expect(zip.calls[0]?.body.toString()).toBe('not checked here');
      const inPlace = await run('deploy', directory, '--in-place');
      expect(inPlace.asked).toEqual(['POST /v1/apps/My-App/versions']);
      expect(jsonOf(inPlace.calls[0])).toEqual({ directory });
    }));

  it.each([
    [['/no/such/folder'], 'The folder /no/such/folder does not exist.'],
    [['.', '--setting', 'novalue'], 'The setting "novalue" is invalid.'],
    [['.', '--settings', '/no/such/file'], 'The settings file /no/such/file cannot be read: ENOENT.'],
    [['.', '--watch-for', 'soon'], 'The value "soon" of --watch-for is invalid. Give a time such as 30s, up to 3600s.'],
    [['.', '--predictive', 'maybe'], 'The value "maybe" of --predictive is invalid.'],
  ])('%j is refused before anything is sent', async (argv, message) => {
    const { asked, stderr, exitCode } = await run('deploy', ...argv);
    expect(asked).toEqual([]);
    expect(stderr).toContain(message);
    expect(exitCode).toBe(1);
  });
});

describe('drover apps', () => {
  it('lists, shows and removes applications', async () => {
    expect((await run('apps')).stdout).toBe(`hello  ${newer} 100 %  2 versions  1 function\n`);
    expect((await run('apps', 'show', 'hello')).stdout).toContain(`${older}  100 %`);
    const removed = await run('apps', 'remove', 'hello');
    expect(removed.asked).toEqual(['DELETE /v1/apps/hello']);
    expect(removed.stdout).toMatch(/^The application hello accepts no more calls/);
  });

  it('are JSON for programs', async () => {
    expect(JSON.parse((await run('apps', '--json')).stdout)).toEqual([view({ [newer]: 100 })]);
  });

  it('have help for the group', async () => {
    const { stdout } = await run('apps', '--help');
    for (const name of ['apps  ', 'apps show <app>', 'apps remove <app>']) expect(stdout).toContain(name);
    expect((await run('traffic', '--help')).stdout).toContain(
      'Usage: drover traffic <app> [version=percent …] [options]',
    );
  });
});

describe('drover traffic', () => {
  it('shows the shares', async () => {
    const { asked, stdout } = await run('traffic', 'hello');
    expect(asked).toEqual(['GET /v1/apps/hello']);
    expect(stdout).toBe(`hello: ${older} 100 %\n`);
  });

  it('splits them; the beginning of a version is enough', async () => {
    const { asked, calls } = await run('traffic', 'hello', 'c01=90', 'c0f=10%');
    expect(asked[1]).toBe('PUT /v1/apps/hello/traffic');
    expect(jsonOf(calls[1])).toEqual({ traffic: { [older]: 90, [newer]: 10 } });
  });

  it('gives all to one version', async () => {
    expect((await run('traffic', 'hello', 'c0f')).asked[1]).toBe(`POST /v1/apps/hello/versions/${newer}/promote`);
  });

  it.each([
    [['c0=100'], 'Several versions of hello begin with "c0"'],
    [['c9=100'], `has no version "c9". Its versions are: ${older}, ${newer}.`],
    [['c01=101'], 'The share "c01=101" is invalid.'],
    [['c01=x'], 'The share "c01=x" is invalid.'],
    [['c01=50', 'c012=50'], `The version ${older} has two shares.`],
  ])('%j is refused, and nothing is changed', async (shares, message) => {
    const { asked, stderr, exitCode } = await run('traffic', 'hello', ...shares);
    expect(asked).toEqual(['GET /v1/apps/hello']);
    expect(stderr).toContain(message);
    expect(exitCode).toBe(1);
  });
});

describe('drover rollback', () => {
  it('returns to the traffic before', async () => {
    const { asked, calls, stdout } = await run('rollback', 'hello', '--reason', 'slow');
    expect(asked).toEqual(['POST /v1/apps/hello/rollback']);
    expect(jsonOf(calls[0])).toEqual({ reason: 'slow' });
    expect(stdout).toBe(`The application hello is rolled back: ${newer} 100 %\n`);
  });

  it('returns to a version by its beginning', async () => {
    const { calls } = await run('rollback', 'hello', 'c012');
    expect(jsonOf(calls[1])).toEqual({ version: older });
  });
});

describe('drover scaling', () => {
  it('explains the number of workers', async () => {
    const { asked, stdout } = await run('scaling', 'hello');
    expect(asked).toEqual(['GET /v1/apps/hello/scaling']);
    expect(stdout).toContain('The least number of workers is 1.');
  });

  it('changes only the bounds that are given', async () => {
    const { asked, calls } = await run('scaling', 'hello', '--max-workers', '9');
    expect(asked).toEqual(['GET /v1/apps/hello', 'PUT /v1/apps/hello/scaling', 'GET /v1/apps/hello/scaling']);
    expect(jsonOf(calls[1])).toEqual({ minWorkers: 1, maxWorkers: 9 });
  });
});

describe('drover doctor', () => {
  it('warns of paths that a collection keeps from a function of the platform that runs', async () => {
    const { stdout, asked } = await run('doctor', '--json', '--port', '0');
    expect(asked).toEqual(['GET /control/route-clashes']);
    const { findings } = JSON.parse(stdout) as { readonly findings: readonly object[] };
    expect(findings).toContainEqual(
      expect.objectContaining({ check: 'routes', verdict: 'warning', found: expect.stringContaining('/api/orders') }),
    );
  });
});
