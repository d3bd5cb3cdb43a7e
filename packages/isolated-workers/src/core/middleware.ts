import type { Middleware, MiddlewareMessage } from '../types/messages.js';

/** Runs a message through the middleware in order and returns the resulting value. */
export async function applyMiddleware(middleware: readonly Middleware[], message: MiddlewareMessage): Promise<unknown> {
  let current = message;
  for (const step of middleware) {
    const changed = await step(current);
    if (changed) current = { ...current, value: changed.value };
  }
  return current.value;
}
