import { readFileSync } from 'node:fs';
import { chmod, mkdtemp, rm, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { Child, eventually } from '@drover/testkit';
import { describe, expect, it } from 'vitest';
import { root } from '../architecture/workspace.js';
import { commandBlocks, executedDocuments, isShown, type CommandBlock } from '../docs/command-blocks.js';
import { freePorts } from '../support/free-ports.js';
import { drover, plainEnvironment } from '../support/platform.js';

/** What `npm start` runs after the build. */
const defaultPlatform = `"${process.execPath}" "${drover}" up --app examples/hello-app`;
const isServer = (commands: string): boolean => /\bdrover(?:\.js)? up\b|drover-runtime/.test(commands);

/** A folder that looks like the repository, with a data directory of its own, and the terminals of its reader. */
class Reader {
  readonly #place: string;
  /** Ports that documents name, and those that are free here. */
  readonly #ports: ReadonlyMap<string, number>;
  readonly #env: NodeJS.ProcessEnv;
  readonly #shell: Child;
  #server: Child | undefined;
  #blocks = 0;

  constructor(place: string, ports: ReadonlyMap<string, number>) {
    this.#place = place;
    this.#ports = ports;
    const portOf = (port: string): string => String(ports.get(port));
    this.#env = plainEnvironment({
      DROVER_PORT: portOf('7070'),
      DROVER_RUNTIME_PORT: portOf('7071'),
      PORT: portOf('8080'),
    });
    this.#shell = new Child('sh', [], { cwd: place, env: this.#env, stdio: ['pipe', 'pipe', 'pipe'] });
  }

  /** Runs a server in a terminal of its own, in place of the one before it. */
  async serve(commands: string): Promise<void> {
    await this.#stopServer();
    this.#server = new Child('sh', ['-c', this.#adapt(commands)], { cwd: this.#place, env: this.#env });
    await this.#server.line(/^Drover is up: |"msg":"runtime is ready"/);
  }

  get isServed(): boolean {
    return this.#server !== undefined;
  }

  /** Types commands into the other terminal. Returns what they print. */
  async type(commands: string): Promise<string> {
    this.#blocks += 1;
    const from = this.#shell.stdout.length;
    this.#shell.process.stdin?.write(`${this.#adapt(commands)}\nprintf '\\n@@${this.#blocks} %s\\n' "$?"\n`);
    const end = await this.#shell.line(new RegExp(`^@@${this.#blocks} `));
    const lines = this.#shell.stdout.slice(from).filter((line) => !line.startsWith('@@') && line !== '');
    if (end !== `@@${this.#blocks} 0`) throw new Error(`${commands}\nfailed:\n${this.#shell.output}`);
    return lines.join('\n');
  }

  async close(): Promise<void> {
    await this.#stopServer();
    await this.#shell.end();
  }

  async #stopServer(): Promise<void> {
    const server = this.#server;
    this.#server = undefined;
    if (!server) return;
    process.kill(-server.pid, 'SIGTERM');
    await server.exited;
    await server.end();
  }

  /** The build is there before any test. */
  #adapt(commands: string): string {
    const ported = [...this.#ports].reduce(
      (text, [documented, free]) => text.replaceAll(`127.0.0.1:${documented}`, `127.0.0.1:${free}`),
      commands,
    );
    return ported.replaceAll(/^npm run build\n/gm, '').trim();
  }

  /** The JSON of a document, with the ports of here. */
  shown(prints: unknown): unknown {
    return JSON.parse(this.#adapt(JSON.stringify(prints)));
  }
}

async function withReader(use: (reader: Reader) => Promise<void>): Promise<void> {
  const place = await mkdtemp(path.join(tmpdir(), 'drover-docs-'));
  await chmod(place, 0o711); // as root, PostgreSQL runs as another user, which must be able to reach its directory
  for (const name of ['apps', 'packages', 'examples', 'node_modules', 'package.json'])
    await symlink(path.join(root, name), path.join(place, name));
  const free = await freePorts(3);
  const ports = new Map(['7070', '7071', '8080'].map((port, index) => [port, free[index] ?? 0]));
  const reader = new Reader(place, ports);
  try {
    await use(reader);
  } finally {
    await reader.close();
    await rm(place, { recursive: true, force: true });
  }
}

async function run(reader: Reader, { commands, prints }: CommandBlock): Promise<void> {
  if (isServer(commands)) return reader.serve(commands);
  if (!reader.isServed) await reader.serve(defaultPlatform);
  if (prints === undefined) {
    expect(await reader.type(commands)).not.toMatch(/"error": ?"/);
    return;
  }
  // A result may take a moment: a reader looks again.
  await eventually(async () => {
    const last = (await reader.type(commands)).split('\n').at(-1) ?? '';
    expect({ last, isShown: isShown(reader.shown(prints), JSON.parse(last)) }).toMatchObject({ isShown: true });
  });
}

describe('the commands of', () => {
  it.each(executedDocuments)('%s do what it says, from top to bottom', async (document) => {
    const blocks = commandBlocks(document, readFileSync(path.join(root, document), 'utf8'));
    const ours = blocks.filter(({ mark }) => mark.kind === 'run here');
    expect(ours.length).toBeGreaterThan(0);
    await withReader(async (reader) => {
      for (const block of ours) await run(reader, block);
    });
  });
});
