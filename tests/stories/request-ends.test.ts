import { mkdtemp, rm, chmod } from 'node:fs/promises';
import { connect, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { eventually, type Child } from '@drover/testkit';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { FunctionsClient, startsOf } from '../support/executions.js';
import { app, workersOf } from '../support/functions.js';
import { readyLine, startUp, type ReadyLine } from '../support/platform.js';

/** A connection on which one request is sent after the other. It has ended when the request has an answer, or the connection is closed. */
class Caller {
  readonly #socket: Socket;
  #received = '';
  #isClosed = false;

  constructor(port: number) {
    this.#socket = connect({ port, host: '127.0.0.1' });
    this.#socket.setEncoding('latin1').on('data', (text: string) => (this.#received += text));
    this.#socket.on('error', () => undefined).on('close', () => (this.#isClosed = true));
  }

  send(request: string): void {
    this.#received = '';
    this.#socket.write(request, 'latin1');
  }

  /** The status of the answer, or `closed`; undefined while there is neither. */
  get end(): string | undefined {
    return /^HTTP\/1\.1 (\d{3}) .*?\r\n\r\n/s.exec(this.#received)?.[1] ?? (this.#isClosed ? 'closed' : undefined);
  }

  close(): void {
    this.#socket.destroy();
  }
}

const get = (target: string): string => `GET ${target} HTTP/1.1\r\nhost: here\r\n\r\n`;
/** Only Node's server reads this. */
const chunked = (target: string): string =>
  `POST ${target} HTTP/1.1\r\nhost: here\r\ntransfer-encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n`;

const perKind = 12; // from eight calls in flight on, calls of `/v1` share a connection

/** Requests of every kind, with the processes behind them. */
class Scene {
  readonly #up: Child;
  readonly #url: string;
  readonly #port: number;
  readonly #client: FunctionsClient;
  #callers: Caller[] = [];
  #calls: Promise<string>[] = [];

  constructor(up: Child, { urls }: ReadyLine, client: FunctionsClient) {
    this.#up = up;
    this.#url = urls.public;
    this.#port = Number(new URL(urls.public).port);
    this.#client = client;
  }

  pid(role: string): number {
    return startsOf(this.#up, role).at(-1)?.pid ?? Number.NaN;
  }

  signalWorkers(signal: NodeJS.Signals): void {
    for (const pid of workersOf(this.#up)) process.kill(pid, signal);
  }

  /** Resolves when calls are answered again, and opens connections on which a request was answered: the next request passes them on. */
  async prepare(): Promise<void> {
    await eventually(async () => {
      this.close();
      this.#callers = Array.from({ length: perKind }, () => new Caller(this.#port));
      for (const caller of this.#callers) caller.send(get('/api/pid'));
      await eventually(() => this.#callers.every(({ end }) => end !== undefined), 30_000);
      const { status } = await this.#client.invoke('pid', {});
      return status === 200 && this.#callers.every(({ end }) => end === '200');
    });
  }

  /** Sends requests for a function that takes its time: on kept and on new connections, for both parsers, and through `/v1`. */
  async send(): Promise<void> {
    const target = '/api/slow/500';
    for (const caller of this.#callers) {
      caller.send(get(target));
      await this.#isRead();
    }
    for (const request of [get(target), chunked(target)]) {
      const added = Array.from({ length: perKind }, () => new Caller(this.#port));
      for (const caller of added) caller.send(request);
      this.#callers.push(...added);
    }
    const call = { json: { input: {} }, timeoutMs: 120_000 };
    this.#calls = Array.from({ length: perKind }, async () => {
      const { status, body } = await this.#client.request('POST', '/v1/functions/pid:invoke', call);
      if (status === 0) return String(body).includes('TimeoutError') ? 'none' : 'closed';
      return String(status);
    });
    await this.#isRead();
  }

  /** Resolves when the platform has read what was sent to it. */
  async #isRead(): Promise<void> {
    await (await fetch(`${this.#url}/healthz`)).text();
  }

  /** Resolves with the ends of all requests, and how often each came; rejects if some have none. */
  async ends(): Promise<Readonly<Record<string, number>>> {
    const calls = await Promise.all(this.#calls);
    await eventually(() => this.#callers.every(({ end }) => end !== undefined));
    const ends: Record<string, number> = {};
    for (const end of [...calls, ...this.#callers.map((caller) => caller.end ?? 'none')])
      ends[end] = (ends[end] ?? 0) + 1;
    return ends;
  }

  close(): void {
    for (const caller of this.#callers.splice(0)) caller.close();
  }
}

describe.each(['on', 'off'])('every request has an end, with the fast lane %s,', (fastLane) => {
  let directory: string;
  let up: Child;
  let scene: Scene;
  beforeAll(async () => {
    directory = await mkdtemp(path.join(tmpdir(), 'drover-ends-'));
    await chmod(directory, 0o711); // as root, PostgreSQL runs as another user, which must be able to reach its directory
    const env = { DROVER_FAST_LANE: fastLane };
    up = startUp(path.join(directory, 'data'), { args: ['--json', '--app', app('busy')], env });
    const ready = await readyLine(up);
    scene = new Scene(up, ready, await FunctionsClient.of(ready));
  });
  afterAll(async () => {
    scene.close();
    up.kill('SIGTERM');
    await up.exited;
    await rm(directory, { recursive: true, force: true });
  });

  const ways: readonly [string, () => Promise<void>][] = [
    [
      'if the runtime is killed while it has no function worker',
      async () => {
        scene.signalWorkers('SIGKILL');
        await scene.send();
        process.kill(scene.pid('runtime-1'), 'SIGKILL');
      },
    ],
    [
      'if the runtime is frozen, gets no further, and is killed',
      async () => {
        process.kill(scene.pid('runtime-1'), 'SIGSTOP');
        await scene.send();
        process.kill(scene.pid('runtime-1'), 'SIGKILL');
      },
    ],
    [
      'if the runtime is stopped',
      async () => {
        await scene.send();
        process.kill(scene.pid('runtime-1'), 'SIGTERM');
      },
    ],
    [
      'if all function workers are frozen, and killed with the requests that they run',
      async () => {
        await scene.send();
        scene.signalWorkers('SIGSTOP');
        scene.signalWorkers('SIGKILL');
      },
    ],
    [
      'if the platform process is frozen, and killed',
      async () => {
        await scene.send();
        process.kill(scene.pid('platform'), 'SIGSTOP');
        process.kill(scene.pid('platform'), 'SIGKILL');
      },
    ],
    [
      'if runtime and platform process are killed in one moment',
      async () => {
        await scene.send();
        process.kill(scene.pid('runtime-1'), 'SIGKILL');
        process.kill(scene.pid('platform'), 'SIGKILL');
      },
    ],
  ];
  it.each(ways)('%s', async (_, act) => {
    await scene.prepare();
    await act();
    const ends = await scene.ends();
    for (const end of Object.keys(ends)) expect(end).toBeOneOf(['200', '408', '500', '502', '503', 'closed']);
  });
});
