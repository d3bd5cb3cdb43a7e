import { hash, timingSafeEqual } from 'node:crypto';
import { Secret } from '@drover/service-kit';
import type { AuthLevel } from './route-table.js';

/** Keys of one application, in clear text: for the store behind `FunctionKeys` only. */
export interface FunctionKeyData {
  readonly masterKey: string;
  /** Good for all functions, by name of the key. */
  readonly functionKeys: Readonly<Record<string, string>>;
  /** For extensions. */
  readonly systemKeys: Readonly<Record<string, string>>;
  /** By name of the function, then of the key. */
  readonly functions: Readonly<Record<string, Readonly<Record<string, string>>>>;
}

interface NamedKey {
  readonly name: string;
  readonly value: Secret;
}

/** Whose keys: all functions', extensions', or one function's. */
export type KeyOwner =
  | { readonly kind: 'host' }
  | { readonly kind: 'system' }
  | { readonly kind: 'function'; readonly name: string };

/** Who may call what. In memory today; the control plane may keep them tomorrow. */
export interface FunctionKeys {
  readonly master: Secret;
  /** A key that a caller sent, ready to be compared. */
  present(key: string): PresentedKey;
  list(owner: KeyOwner): readonly NamedKey[];
}

interface PresentedKey {
  readonly isMaster: boolean;
  isFor(owner: KeyOwner): boolean;
}

/** Whether a caller with this key may call a function of that level. */
export function isAuthorized(level: AuthLevel, functionName: string, key: PresentedKey | undefined): boolean {
  if (level === 'anonymous') return true;
  if (!key) return false;
  if (key.isMaster) return true;
  switch (level) {
    case 'function':
      return key.isFor({ kind: 'function', name: functionName }) || key.isFor({ kind: 'host' });
    case 'system':
      return key.isFor({ kind: 'system' });
    case 'admin':
      return false;
  }
}

/** Keys held in memory. Digests of the same length are compared, so that time tells nothing about a key. */
export class MemoryFunctionKeys implements FunctionKeys {
  readonly master: Secret;
  readonly #master: Buffer;
  readonly #host: readonly StoredKey[];
  readonly #system: readonly StoredKey[];
  readonly #functions: ReadonlyMap<string, readonly StoredKey[]>;

  constructor({ masterKey, functionKeys, systemKeys, functions }: FunctionKeyData) {
    this.master = new Secret(masterKey);
    this.#master = digest(masterKey);
    this.#host = store(functionKeys);
    this.#system = store(systemKeys);
    this.#functions = new Map(Object.entries(functions).map(([name, keys]) => [name.toLowerCase(), store(keys)]));
  }

  present(key: string): PresentedKey {
    const given = digest(key);
    return {
      isMaster: timingSafeEqual(given, this.#master),
      isFor: (owner) => {
        let isFound = false;
        // Every one is compared, found or not.
        for (const known of this.#of(owner)) isFound = timingSafeEqual(known.digest, given) || isFound;
        return isFound;
      },
    };
  }

  list(owner: KeyOwner): readonly NamedKey[] {
    return this.#of(owner).map(({ name, value }) => ({ name, value }));
  }

  #of(owner: KeyOwner): readonly StoredKey[] {
    switch (owner.kind) {
      case 'host':
        return this.#host;
      case 'system':
        return this.#system;
      case 'function':
        return this.#functions.get(owner.name.toLowerCase()) ?? [];
    }
  }
}

interface StoredKey extends NamedKey {
  readonly digest: Buffer;
}

function store(keys: Readonly<Record<string, string>>): readonly StoredKey[] {
  return Object.entries(keys).map(([name, value]) => ({ name, value: new Secret(value), digest: digest(value) }));
}

/** Takes as long for a key that is nearly right as for any other. */
export function isSameKey(presented: string, expected: string): boolean {
  return timingSafeEqual(digest(presented), digest(expected));
}

function digest(key: string): Buffer {
  return hash('sha256', key, 'buffer');
}
