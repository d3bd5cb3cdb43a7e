import { fork, spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import type { Socket } from 'node:net';
import { Worker } from 'node:worker_threads';
import { Answers, type Echo, type RawMessage } from './echo.js';
import { readFrames, wireDescriptor, writeFrame } from './json-frames.js';

const script = (name: string): URL => new URL(`./workers/${name}.js`, import.meta.url);

export function rawPort(): Echo {
  const worker = new Worker(script('port'));
  const answers = new Answers();
  worker.on('message', (message: RawMessage) => answers.settle(message));
  return {
    name: 'raw MessagePort',
    kind: 'raw thread',
    // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread of Node, not a window
    echo: (value) => answers.ask(value, (message) => worker.postMessage(message)),
    close: () => worker.terminate(),
  };
}

export function rawIpc(serialization: 'json' | 'advanced'): Echo {
  const child = fork(script('ipc'), { serialization });
  const answers = new Answers();
  child.on('message', (message) => answers.settle(message as RawMessage)); // only our worker speaks there
  return {
    name: `raw child_process IPC, ${serialization}`,
    kind: 'raw process',
    echo: (value) => answers.ask(value, (message) => child.send(message)),
    close: () => ended(child),
  };
}

/** A raw worker process on a socket pair, which tells its process too: some measurements kill it. */
export function rawSocket(): Echo & { readonly child: ChildProcess } {
  const child = spawn(process.execPath, [script('socket').pathname], {
    stdio: ['ignore', 'inherit', 'inherit', 'pipe'],
  });
  const socket = child.stdio[wireDescriptor] as Socket; // 'pipe' above
  socket.on('error', () => undefined); // it was killed on purpose
  const answers = new Answers();
  readFrames(socket, (message) => answers.settle(message as RawMessage));
  return {
    name: 'raw socket, length-prefixed JSON',
    kind: 'raw process',
    child,
    echo: (value) => answers.ask(value, (message) => writeFrame(socket, message)),
    close: () => ended(child),
  };
}

async function ended(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const exit = once(child, 'exit');
  child.kill('SIGKILL');
  await exit;
}
