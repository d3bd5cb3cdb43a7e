import { Secret } from '@drover/service-kit';
import type { EnvCipher, EnvOwner } from './env-cipher.js';
import { envUnreadable } from './errors.js';

/**
 * Variables that are opened when the first of them is wanted, not when the function is read: a key that is wrong stops
 * the processes that need it and nothing else, and most definitions are read by somebody who starts none.
 */
export function sealedEnv(
  cipher: EnvCipher,
  owner: EnvOwner,
  names: readonly string[],
  sealed: Buffer | null,
): Readonly<Record<string, Secret>> {
  let opened: ReadonlyMap<string, string> | undefined;
  const open = (): ReadonlyMap<string, string> => (opened ??= sealed ? cipher.open(owner, sealed) : new Map());
  const reveal = (name: string): string => {
    const value = open().get(name);
    if (value === undefined) throw envUnreadable({ ...owner, reason: `there is no value for ${name}` });
    return value;
  };
  return Object.fromEntries(names.map((name) => [name, new SealedSecret(() => reveal(name))]));
}

/** `reveal` throws FUNCTION_ENV_UNREADABLE when it cannot be opened. */
class SealedSecret extends Secret {
  readonly #open: () => string;

  constructor(open: () => string) {
    super('');
    this.#open = open;
  }

  override reveal(): string {
    return this.#open();
  }
}
