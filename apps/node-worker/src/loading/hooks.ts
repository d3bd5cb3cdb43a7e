import { Disposable } from './disposable.js';
import { UnknownHookError } from './system-errors.js';

export type HookCallback = (context: object) => unknown;

/** The hooks of one app, in the order of registration. */
export class Hooks {
  readonly preInvocation: HookCallback[] = [];
  readonly postInvocation: HookCallback[] = [];
  readonly appStart: HookCallback[] = [];
  readonly appTerminate: HookCallback[] = [];
  /** Called for every log line. */
  readonly log: HookCallback[] = [];

  register(name: string, callback: HookCallback): Disposable {
    const callbacks = this.#named(name);
    callbacks.push(callback);
    return new Disposable(() => {
      const at = callbacks.indexOf(callback);
      if (at >= 0) callbacks.splice(at, 1);
    });
  }

  #named(name: string): HookCallback[] {
    switch (name) {
      case 'preInvocation':
      case 'postInvocation':
      case 'appStart':
      case 'appTerminate':
      case 'log':
        return this[name];
      default:
        throw new UnknownHookError(`Unrecognized hook "${name}"`);
    }
  }
}

/** Runs hooks in sequence. Rejects with the first error; the hooks after it do not run. */
export async function runHooks(callbacks: readonly HookCallback[], context: object): Promise<void> {
  for (const callback of callbacks) await callback(context);
}
