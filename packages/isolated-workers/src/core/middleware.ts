import { UnsupportedOptionError } from '../types/errors.js';
import type { Middleware, MiddlewareMessage } from '../types/messages.js';

/** Runs a message through the middleware in order and returns the resulting value. */
export async function applyMiddleware(middleware: readonly Middleware[], message: MiddlewareMessage): Promise<unknown> {
  let current = message;
  for (const step of middleware) {
    const changed: unknown = await step(current);
    if (!changed) continue;
    if (typeof changed !== 'object' || !('value' in changed))
      throw new UnsupportedOptionError(
        `The middleware returned ${typeof changed === 'object' ? 'an object without value' : `a ${typeof changed}`} for '${message.type}'. Return { value }, or nothing to leave the message as it is.`,
      );
    current = { ...current, value: changed.value };
  }
  return current.value;
}
