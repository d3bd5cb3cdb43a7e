import path from 'node:path';

/** Describes why code of an app was not loaded: the message of the error, and the place in the app that it comes from. */
export function describeLoadFailure(error: unknown, directory: string): string {
  if (!(error instanceof Error)) return String(error);
  const place = placeOf(error, directory);
  return place === undefined ? error.message : `${error.message} (at ${place})`;
}

/**
 * Returns the topmost line of the stack that is in the app, such as `functions/order.js:3:7`. Before its stack, a syntax error of
 * a CommonJS file has a line with the place; one of an ES module has none.
 */
function placeOf({ stack }: Error, directory: string): string | undefined {
  const inside = `${path.resolve(directory)}${path.sep}`;
  for (const line of typeof stack === 'string' ? stack.split('\n') : []) {
    const from = line.indexOf(inside);
    const found = from < 0 ? undefined : /^(.+?:\d+(?::\d+)?)\)?$/.exec(line.slice(from + inside.length))?.[1];
    if (found !== undefined && !found.includes('node_modules')) return found;
  }
  return undefined;
}
