import { fork, spawn, type ChildProcess } from 'node:child_process';
import { once, type EventEmitter } from 'node:events';
import type { Socket } from 'node:net';
import { Worker } from 'node:worker_threads';
import { Answers, type Echo, type RawMessage } from './echo.js';
import { readFrames, wireDescriptor, writeFrame } from './json-frames.js';

const script = (name: string): URL => new URL(`./workers/${name}.js`, import.meta.url);

/**
 * Worker processes lead a session of their own, as ours do, because Linux shares out a busy CPU among sessions: without it, a
 * bare worker would answer twice as fast beside other work.
 */
const detached = true;

/** How to start, ask and end a worker of one bare transport. */
interface Transport<RawWorker extends EventEmitter> {
  readonly name: string;
  readonly kind: Echo['kind'];
  readonly start: (onAnswer: (message: RawMessage) => void) => RawWorker;
  readonly send: (worker: RawWorker, message: RawMessage | 'exit') => void;
  readonly end: (worker: RawWorker) => Promise<unknown>;
}

/** Started at once, and again when it is asked after its end. */
function bare<RawWorker extends EventEmitter>({ name, kind, start, send, end }: Transport<RawWorker>): Echo {
  const answers = new Answers();
  const onAnswer = (message: RawMessage): void => answers.settle(message);
  let worker: RawWorker | undefined = start(onAnswer);
  const echo = (value: unknown): Promise<unknown> =>
    answers.ask(value, (message) => send((worker ??= start(onAnswer)), message));
  const exit = async (): Promise<void> => {
    if (!worker) return;
    const ended = once(worker, 'exit');
    send(worker, 'exit');
    worker = undefined;
    await ended;
  };
  return {
    name,
    kind,
    echo,
    exit,
    exitOnce: async (file) => {
      await exit();
      return echo(file);
    },
    close: async () => worker && end(worker),
  };
}

export function rawPort(): Echo {
  return bare<Worker>({
    name: 'raw MessagePort',
    kind: 'raw thread',
    start: (onAnswer) => new Worker(script('port')).on('message', onAnswer),
    // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread of Node, not a window
    send: (worker, message) => worker.postMessage(message),
    end: (worker) => worker.terminate(),
  });
}

export function rawIpc(serialization: 'json' | 'advanced'): Echo {
  return bare<ChildProcess>({
    name: `raw child_process IPC, ${serialization}`,
    kind: 'raw process',
    start: (onAnswer) =>
      fork(script('ipc'), { serialization, detached }).on('message', (message) => onAnswer(message as RawMessage)), // only our worker speaks there
    send: (child, message) => child.send(message),
    end: ended,
  });
}

export function rawSocket(): Echo {
  return bare<ChildProcess>({
    name: 'raw socket, length-prefixed JSON',
    kind: 'raw process',
    start: startSocketWorker,
    send: askSocketWorker,
    end: ended,
  });
}

/** A worker process on a socket pair. */
export function startSocketWorker(onAnswer: (message: RawMessage) => void): ChildProcess {
  const child = spawn(process.execPath, [script('socket').pathname], {
    stdio: ['ignore', 'inherit', 'inherit', 'pipe'],
    detached,
  });
  socketOf(child).on('error', () => undefined); // it ends on purpose
  readFrames(socketOf(child), (message) => onAnswer(message as RawMessage));
  return child;
}

export function askSocketWorker(child: ChildProcess, message: RawMessage | 'exit'): void {
  writeFrame(socketOf(child), message);
}

const socketOf = (child: ChildProcess): Socket => child.stdio[wireDescriptor] as Socket; // 'pipe' above

export async function ended(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const exit = once(child, 'exit');
  child.kill('SIGKILL');
  await exit;
}
