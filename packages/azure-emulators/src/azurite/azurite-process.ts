import { spawn, type ChildProcess } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';

export type AzuriteKind = 'blob' | 'queue' | 'table';

export interface AzuriteProcess {
  readonly pid: number;
  readonly port: number;
  /** Resolves with the exit code or the signal. */
  readonly exited: Promise<string>;
  /** Lets it save its data and end. Kills it if that takes too long. */
  stop(): Promise<void>;
}

const startWithinMs = 30_000;
const stopWithinMs = 5_000;

/**
 * Starts a service of Azurite in a process of its own, on a free port of this machine. The IPC channel is its leash: when this process
 * ends, also by kill -9, the channel closes, and Azurite saves its data and ends.
 */
export async function startAzuriteProcess(
  kind: AzuriteKind,
  dataDirectory: string | undefined,
): Promise<AzuriteProcess> {
  if (dataDirectory !== undefined) mkdirSync(dataDirectory, { recursive: true });
  const child = spawn(process.execPath, ['-e', programOf(kind), 'azurite', ...argumentsOf(kind, dataDirectory)], {
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
    cwd: dataDirectory ?? tmpdir(),
  });
  const exited = new Promise<string>((resolve) => {
    child.once('exit', (code, signal) => resolve(signal ?? `exit code ${code}`));
    child.once('error', (error) => resolve(error.message));
  });
  const port = await portOf(child, exited);
  return { pid: child.pid ?? 0, port, exited, stop: () => stop(child, exited) };
}

/** Runs in the process of Azurite, before it. The port is reported by the server itself: the table service prints the one it was asked for. */
const prelude = `
  const { Server } = require('node:net');
  const { listen } = Server.prototype;
  Server.prototype.listen = function (...args) {
    this.once('listening', () => setImmediate(() => process.send({ port: this.address().port }))); // handles signals by then
    return listen.apply(this, args);
  };
  process.once('SIGINT', () => process.channel?.unref()); // nothing else keeps it alive when its data is saved
  process.once('disconnect', () => {
    process.kill(process.pid, 'SIGINT'); // Azurite saves its data and ends
    setTimeout(process.exit, ${stopWithinMs}).unref();
  });
`;

function programOf(kind: AzuriteKind): string {
  // From this package, also in a bundle of another one: an application may have an Azurite of its own.
  const here = createRequire(import.meta.url).resolve('@drover/azure-emulators');
  const main = createRequire(here).resolve(`azurite/dist/src/${kind}/main.js`);
  return `${prelude} require(${JSON.stringify(main)});`;
}

function argumentsOf(kind: AzuriteKind, dataDirectory: string | undefined): string[] {
  const storage = dataDirectory === undefined ? ['--inMemoryPersistence'] : ['--location', dataDirectory];
  const port = [`--${kind}Host`, '127.0.0.1', `--${kind}Port`, '0'];
  // SDKs are newer than Azurite most of the time; Azurite would refuse their version of the API.
  return [...port, ...storage, '--silent', '--disableTelemetry', '--skipApiVersionCheck'];
}

async function portOf(child: ChildProcess, exited: Promise<string>): Promise<number> {
  let output = '';
  const keepTail = (chunk: Buffer): void => {
    output = `${output}${chunk.toString()}`.slice(-4_000);
  };
  child.stdout?.on('data', keepTail);
  child.stderr?.on('data', keepTail);
  const listening = new Promise<number>((resolve) => {
    child.once('message', (message) => resolve((message as { readonly port: number }).port)); // from the prelude
  });
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<string>((resolve) => {
    timer = setTimeout(() => resolve(`no answer within ${startWithinMs / 1000} s`), startWithinMs);
  });
  const outcome = await Promise.race([listening, exited, late]);
  clearTimeout(timer);
  if (typeof outcome === 'number') return outcome;
  child.kill('SIGKILL');
  throw new Error(`Azurite did not start (${outcome}): ${output.trim().split('\n').at(-1) ?? ''}`);
}

async function stop(child: ChildProcess, exited: Promise<string>): Promise<void> {
  child.kill('SIGINT'); // the table service knows no SIGTERM
  const timer = setTimeout(() => child.kill('SIGKILL'), stopWithinMs);
  await exited;
  clearTimeout(timer);
}
