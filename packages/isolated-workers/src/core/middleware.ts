import type { Middleware, MiddlewareMessage } from '../types/middleware.js';

/** Runs a message through all of them, in the order given; the value that comes out. */
export async function applyMiddleware(middleware: readonly Middleware[], message: MiddlewareMessage): Promise<unknown> {
  let current = message;
  for (const step of middleware) {
    const changed = await step(current);
    if (changed) current = { ...current, value: changed.value };
  }
  return current.value;
}
