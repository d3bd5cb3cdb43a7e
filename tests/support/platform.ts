import { readdirSync, readFileSync } from 'node:fs';
import { chmod, mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { controlRoutes, createClient, type Client } from '@drover/contracts';
import { Child, eventually, isAlive } from '@drover/testkit';
import { root } from '../architecture/workspace.js';

export const drover = path.join(root, 'apps/cli/bin/drover.js');

export interface ReadyLine {
  readonly event: 'ready';
  /** If an application needs emulators. */
  readonly emulatorsPage?: string;
  readonly urls: { readonly public: string; readonly functionRpc?: string; readonly functionRpcLoopback?: string };
  readonly pids: {
    readonly platform: number;
    readonly 'runtime-1'?: number;
    readonly 'collection-worker-1'?: number;
    readonly 'collection-worker-2'?: number;
    readonly postgres?: number;
  };
  readonly credentialsFile: string;
  readonly functions: readonly {
    readonly application: string;
    readonly name: string;
    readonly methods: readonly string[];
    readonly url?: string;
  }[];
}

/**
 * The environment without any variable that changes what Drover, Node.js or npm do. Emulators are off: a test that stops its own
 * must not find its port taken over, and the usual ports belong to no test.
 */
export function plainEnvironment(extra: NodeJS.ProcessEnv = {}): NodeJS.ProcessEnv {
  const own = Object.entries(process.env).filter(
    ([name]) => !/^(DROVER_|DATABASE_|NODE_|VITEST|npm_|OTEL_|CI$)/i.test(name),
  );
  return { ...Object.fromEntries(own), DROVER_EMULATORS: 'off', DROVER_EMULATORS_PAGE_PORT: '0', ...extra };
}

/** Lets functions and callbacks have endpoints on this machine, as the endpoints of tests are. */
export const allowsLoopback = { DROVER_ENDPOINT_HOSTS: 'loopback' };

/** Starts `drover up` as a user does, on port 0 unless the arguments name one. Its log is text, as on a terminal, or JSON with `--json`. */
export function startUp(
  dataDirectory: string,
  { args = [], env = {} }: { args?: readonly string[]; env?: NodeJS.ProcessEnv } = {},
): Child {
  return new Child(process.execPath, [drover, 'up', '--data-dir', dataDirectory, '--port', '0', ...args], {
    env: plainEnvironment({ DROVER_LOG_FORMAT: 'text', ...env }),
  });
}

export async function readyLine(up: Child): Promise<ReadyLine> {
  return JSON.parse(await up.line(/^\{"event":"ready"/)) as ReadyLine;
}

/** Returns the process of a role that runs now: `drover up --json` logs each start. The log level must be `info`. */
export function currentPid(up: Child, role: string): number {
  const lines = up.stderr.map((line) => JSON.parse(line) as { kind?: string; role?: string; pid?: number });
  return lines.findLast((line) => line.kind === 'up.ready' && line.role === role)?.pid ?? Number.NaN;
}

/** A running platform, its ready line and a client. */
export interface Platform {
  readonly up: Child;
  readonly ready: ReadyLine;
  readonly client: Client<typeof controlRoutes>;
}

export async function startPlatform(
  dataDirectory: string,
  options: { env?: NodeJS.ProcessEnv } = {},
): Promise<Platform> {
  const up = startUp(dataDirectory, { ...options, args: ['--json'] });
  const ready = await readyLine(up);
  return { up, ready, client: await clientOf(ready) };
}

export async function clientOf({ credentialsFile }: ReadyLine): Promise<Client<typeof controlRoutes>> {
  const { url, apiKey } = JSON.parse(await readFile(credentialsFile, 'utf8')) as { url: string; apiKey: string };
  return createClient(controlRoutes, { url, apiKey });
}

/** Makes an empty data directory for one test; ends the processes that the test leaves running and removes it. */
export async function withDataDirectory(
  use: (directory: string, started: (child: Child) => Child) => Promise<void>,
): Promise<void> {
  const parent = await mkdtemp(path.join(tmpdir(), 'drover-e2e-'));
  await chmod(parent, 0o711); // as root, PostgreSQL runs as another user, which must be able to reach its directory
  const children: Child[] = [];
  try {
    await use(path.join(parent, 'data'), (child) => {
      children.push(child);
      return child;
    });
  } finally {
    for (const child of children) {
      child.kill('SIGTERM');
      await Promise.race([child.exited, eventually(() => !isAlive(child.pid)).catch(() => undefined)]);
      await child.end();
    }
    // What a killed one has left behind ends by itself, and writes to its files until then.
    await eventually(() => processesOf(parent).length === 0).catch(() => undefined);
    await rm(parent, { recursive: true, force: true });
  }
}

/** Pids of processes with the directory in their command line or environment: all that one `drover up` has started. */
export function processesOf(directory: string): number[] {
  return processes().filter((pid) => mentions(pid, 'cmdline', directory) || mentions(pid, 'environ', directory));
}

/** Returns the pid of the shell that ends all processes of this `drover up` when it is killed. */
export function leashOf(up: Child): number {
  const [pid] = processes().filter(
    (candidate) => mentions(candidate, 'cmdline', 'drover-leash') && parentOf(candidate) === up.pid,
  );
  if (pid === undefined) throw new Error('there is no leash');
  return pid;
}

/** Running child processes of a process. */
export function childrenOf(parent: number): number[] {
  return processes().filter((pid) => parentOf(pid) === parent);
}

function processes(): number[] {
  const pids = readdirSync('/proc').filter((name) => /^\d+$/.test(name));
  return pids.map(Number).filter((pid) => pid !== process.pid && isAlive(pid));
}

function mentions(pid: number, file: 'cmdline' | 'environ', text: string): boolean {
  try {
    return readFileSync(`/proc/${pid}/${file}`, 'utf8').includes(text);
  } catch {
    return false; // the process has ended, or belongs to another user
  }
}

function parentOf(pid: number): number {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    return Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1]);
  } catch {
    return 0; // the process has ended
  }
}
