// Imports what is needed for one kind of worker, starts it, and prints the milliseconds until its first answer.
const [, , owner, place] = process.argv;
const script = (name: string): URL => new URL(`./workers/${name}.js`, import.meta.url);
const startedMs = performance.now();

async function bareThread(): Promise<void> {
  const { Worker } = await import('node:worker_threads');
  const worker = new Worker(script('port'));
  const answer = new Promise((resolve) => void worker.once('message', resolve));
  // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread of Node, not a window
  worker.postMessage(0);
  await answer;
}

async function bareProcess(): Promise<void> {
  const { fork } = await import('node:child_process');
  const child = fork(script('ipc'), { detached: true }); // as in raw.ts
  const answer = new Promise((resolve) => void child.once('message', resolve));
  child.send(0);
  await answer;
}

async function our(): Promise<void> {
  const { createWorker, workerThreads, childProcess } = await import('@drover/isolated-workers');
  const driver = place === 'thread' ? workerThreads : childProcess;
  const worker = await createWorker<{ echo: { payload: number; result: number } }>({ script: script('ours'), driver });
  await worker.send('echo', 0);
}

await (owner === 'our' ? our() : place === 'thread' ? bareThread() : bareProcess());
process.stdout.write(String(performance.now() - startedMs), () => process.exit());
