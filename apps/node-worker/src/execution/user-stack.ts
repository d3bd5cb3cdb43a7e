/** Node's default for the frames of a stack. */
const nodeLimit = 10;
/** A function runs under about eight frames of the worker, which are removed. */
const limit = 20;

/** Makes stacks show as many frames of the app as anywhere else, unless the app or its options set a limit. */
export function extendStacks(): void {
  if (Error.stackTraceLimit === nodeLimit) Error.stackTraceLimit = limit;
}

/** The folder of this package's code, as stacks show it: the bundle, or its sources with source maps. */
const ownRoot = /(?:file:\/\/)?(\/.*[\\/]node-worker[\\/](?:dist|src)[\\/])/.exec(
  new Error('for its stack').stack ?? '',
)?.[1];

/** Returns the stack of an error of the app without the frames of the worker and those of Node.js below them. */
export function withoutWorkerFrames(stack: string, root: string | undefined = ownRoot): string {
  if (root === undefined) return stack;
  const lines = stack.split('\n');
  const kept = lines.filter((line) => !(isFrame(line) && line.includes(root)));
  if (kept.length === lines.length) return stack;
  while (isFrame(kept.at(-1) ?? '') && /[( ]node:internal\//.test(kept.at(-1) ?? '')) kept.pop();
  // An error without frames of the app has its cause in the worker.
  return kept.some(isFrame) ? kept.join('\n') : stack;
}

function isFrame(line: string): boolean {
  return /^\s+at /.test(line);
}
