import { createPrivateKey, X509Certificate } from 'node:crypto';
import { readFile, stat } from 'node:fs/promises';
import { createServer, type AddressInfo } from 'node:net';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { storedAuthority } from '@drover/runtime';
import { Child, withScratchDirectory } from '@drover/testkit';
import { describe, expect, it } from 'vitest';

const drover = fileURLToPath(new URL('../bin/drover.js', import.meta.url));

/** Runs `drover` to its end. */
async function run(
  args: readonly string[],
  env: NodeJS.ProcessEnv = {},
): Promise<{ code: number | null; out: string; err: string }> {
  const child = new Child(process.execPath, [drover, ...args], { env: { PATH: process.env['PATH'], ...env } });
  const { code } = await child.exited;
  return { code, out: child.stdout.join('\n'), err: child.stderr.join('\n') };
}

interface DoctorReport {
  readonly healthy: boolean;
  readonly findings: readonly {
    readonly check: string;
    readonly verdict: string;
    readonly found: string;
    readonly next?: string;
  }[];
}

describe('drover', () => {
  it.each([
    [['up', '--help'], 'Usage: drover up [options]'],
    [['help', 'invoke'], 'Usage: drover invoke <function> [input] [options]'],
    [['keys', '--help'], 'Usage: drover keys <command> [options]'],
    [['--version'], /^\d+\.\d+\.\d+$/],
  ])('prints help for %j', async (args, expected) => {
    const { code, out, err } = await run(args);
    expect({ code, err }).toEqual({ code: 0, err: '' });
    expect(out).toMatch(expected);
  });

  it('ends in order when the reader of its output has left', async () => {
    const pipe = new Child('bash', ['-c', 'set -o pipefail; "$0" "$1" --help | true', process.execPath, drover]);
    expect(await pipe.exited).toEqual({ code: 0, signal: null });
    expect(pipe.stderr).toEqual([]);
  });

  it('lists its commands', async () => {
    const { code, out } = await run(['--help']);
    expect(code).toBe(0);
    for (const command of ['up', 'doctor', 'keys', 'control-plane']) expect(out).toContain(`  ${command} `);
  });

  it.each([
    [['fly'], 'The command "fly" does not exist. Run "drover --help"'],
    [['keys', 'lst'], 'Did you mean "keys list"? Run "drover keys --help"'],
    [['keys'], '"drover keys" needs a command. Run "drover keys --help"'],
    [['up', '--port', 'x'], 'Give a whole number from 0 to 65535. Run "drover up --help"'],
    [['up', '--colour'], 'The option "--colour" does not exist. Run "drover up --help"'],
    [['keys', 'create'], 'The argument <name> is missing. Run "drover keys create --help"'],
  ])('refuses %j with the next step', async (args, message) => {
    const { code, err } = await run(args);
    expect(code).toBe(1);
    expect(err).toContain(message);
  });

  it('makes the certificate of a worker, with an authority that exists only', () =>
    withScratchDirectory(async (scratch) => {
      const certificates = path.join(scratch, 'certificates');
      const out = path.join(scratch, 'out');
      const args = ['certificate', 'worker', 'w-1', '--app', 'shop', '--certificates', certificates, '--out', out];
      const refused = await run(args);
      expect(refused).toMatchObject({ code: 1, err: expect.stringContaining('has no certificate authority') });
      const authority = await storedAuthority(certificates);
      const { code, out: printed } = await run([...args, '--json']);
      expect(code).toBe(0);
      const files = JSON.parse(printed) as Record<'key' | 'cert' | 'ca', string>;
      const certificate = new X509Certificate(await readFile(files.cert));
      expect(certificate.subjectAltName).toBe('URI:drover://default/default%2Fshop/w-1');
      expect(certificate.verify(new X509Certificate(authority.ca).publicKey)).toBe(true);
      expect(certificate.checkPrivateKey(createPrivateKey(await readFile(files.key)))).toBe(true);
      expect((await stat(files.key)).mode & 0o777).toBe(0o600);
      expect((await run(['certificate', 'worker', '../w'])).err).toContain('The worker id "../w" is invalid');
    }));

  it('refuses to run a role without a database, naming the variable', async () => {
    const { code, out } = await run(['control-plane']);
    expect(code).toBe(78);
    expect(out).toContain('DATABASE_URL is not set');
  });

  it('explains how to find a platform when there is none', () =>
    withScratchDirectory(async (scratch) => {
      const lost = await run(['keys', 'list', '--data-dir', scratch]);
      expect(lost).toMatchObject({ code: 1, out: '' });
      expect(lost.err).toContain(`${path.join(scratch, 'credentials.json')} does not exist. Start "drover up"`);
      const away = await run(['keys', 'list'], { DROVER_URL: 'http://127.0.0.1:1', DROVER_API_KEY: 'x' });
      expect(away.code).toBe(1);
      expect(away.err).toContain('The server at http://127.0.0.1:1 cannot be reached');
    }));
});

describe.runIf(process.platform === 'linux')('the log of drover up', () => {
  const command = `"${process.execPath}" "${drover}" up --port 0 --data-dir /proc/x`;
  const failure = /drover up failed: The data directory \/proc\/x cannot be used/;

  it.each([
    ['in colours on a terminal', { TERM: 'xterm' }, true],
    ['without colours where NO_COLOR is set', { TERM: 'xterm', NO_COLOR: '1' }, false],
  ])('is text, %s', async (_, env, hasColors) => {
    const child = new Child('script', ['-qefc', command, '/dev/null'], { env: { PATH: process.env['PATH'], ...env } });
    const { code } = await child.exited;
    expect({ code, text: child.output }).toEqual({ code: 1, text: expect.stringMatching(failure) });
    expect(child.output).toMatch(/\d\d:\d\d:\d\d\.\d{3}/);
    expect(child.output).not.toContain('"level"');
    expect(child.output.includes('\u001B[')).toBe(hasColors);
  });

  it('is JSON where it is piped, and text where it is asked for', async () => {
    const args = ['up', '--port', '0', '--data-dir', '/proc/x'];
    const { err } = await run(args);
    expect(err.split('\n').map((line) => JSON.parse(line) as unknown)).toContainEqual(
      expect.objectContaining({ level: 'error', msg: expect.stringMatching(failure) }),
    );
    expect((await run(args, { DROVER_LOG_FORMAT: 'text' })).err).toMatch(
      /^\d\d:\d\d:\d\d\.\d{3} up +error: drover up failed/m,
    );
  });
});

describe('drover doctor', () => {
  const examine = async (
    args: readonly string[],
    env: NodeJS.ProcessEnv = {},
  ): Promise<DoctorReport & { code: number | null }> => {
    const { code, out } = await run(['doctor', '--json', ...args], env);
    return { ...(JSON.parse(out) as DoctorReport), code };
  };

  it('finds a machine healthy that has everything, and leaves nothing behind', () =>
    withScratchDirectory(async (scratch) => {
      const report = await examine(['--data-dir', path.join(scratch, 'a/b'), '--port', '0']);
      expect(report.findings.filter(({ verdict }) => verdict === 'bad')).toEqual([]);
      expect(report).toMatchObject({ healthy: true, code: 0 });
      expect(await import('node:fs/promises').then(({ readdir }) => readdir(scratch))).toEqual([]);
    }));

  it.runIf(process.platform === 'linux')(
    'refuses a data directory that cannot be created, instead of waiting for it',
    async () => {
      const report = await examine(['--data-dir', '/proc/x', '--port', '0']);
      expect(report).toMatchObject({ healthy: false, code: 1 });
      expect(report.findings).toContainEqual(
        expect.objectContaining({ check: 'data directory', verdict: 'bad', found: expect.stringContaining('/proc/x') }),
      );
    },
  );

  it('names what is wrong with a next step, all of it at once, and exits with 1', () =>
    withScratchDirectory(async (scratch) => {
      const squatter = createServer().listen(0, '127.0.0.1');
      await new Promise((resolve) => squatter.once('listening', resolve));
      const { port } = squatter.address() as AddressInfo;
      const report = await examine(['--data-dir', scratch, '--port', String(port)], {
        DATABASE_URL: 'postgres://nobody@127.0.0.1:1/x',
        DROVER_LOGLEVEL: 'debug',
      });
      squatter.close();
      expect(report).toMatchObject({ healthy: false, code: 1 });
      expect(report.findings).toContainEqual(expect.objectContaining({ check: 'port', verdict: 'bad' }));
      expect(report.findings).toContainEqual(expect.objectContaining({ check: 'database', verdict: 'bad' }));
      expect(report.findings).toContainEqual(
        expect.objectContaining({ verdict: 'warning', next: 'Did you mean DROVER_LOG_LEVEL?' }),
      );
      for (const finding of report.findings) if (finding.verdict !== 'good') expect(finding.next).toBeTruthy();
    }));
});
