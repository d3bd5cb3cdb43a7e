import { Secret } from '@drover/service-kit';
import type { EnvCipher, EnvOwner } from './env-cipher.js';
import { envUnreadable } from './errors.js';

/**
 * Returns secrets that decrypt on first use instead of when the function is read: a wrong key then fails only the processes
 * that need the variables, and most readers of a definition start no process.
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

/** `reveal` throws FUNCTION_ENV_UNREADABLE when the value cannot be decrypted. */
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
