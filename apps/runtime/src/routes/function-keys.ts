import { hash, timingSafeEqual } from 'node:crypto';
import { Secret } from '@drover/service-kit';
import type { AuthLevel } from './route-table.js';

/** Keys of one application in clear text. */
export interface FunctionKeyData {
  readonly masterKey: string;
  /** Host keys, valid for all functions, by key name. */
  readonly functionKeys: Readonly<Record<string, string>>;
  /** Keys of extensions, by key name. */
  readonly systemKeys: Readonly<Record<string, string>>;
  /** By function name, then key name. */
  readonly functions: Readonly<Record<string, Readonly<Record<string, string>>>>;
}

interface NamedKey {
  readonly name: string;
  readonly value: Secret;
}

/** What a key is valid for. */
export type KeyOwner =
  | { readonly kind: 'host' }
  /** Undefined: of any extension. */
  | { readonly kind: 'system'; readonly name?: string }
  | { readonly kind: 'function'; readonly name: string };

/** Checks and lists the keys of one application. */
export interface FunctionKeys {
  readonly master: Secret;
  /** Prepares the key of a request for comparisons. */
  present(key: string): PresentedKey;
  list(owner: KeyOwner): readonly NamedKey[];
}

interface PresentedKey {
  readonly isMaster: boolean;
  isFor(owner: KeyOwner): boolean;
}

/** Whether a key authorizes a call of a function with this auth level. */
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

/** Keys in memory. Digests of equal length are compared in constant time, so that timing reveals nothing about a key. */
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
        // No early exit: the time must not depend on which key matches.
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
        return owner.name === undefined ? this.#system : this.#system.filter(({ name }) => name === owner.name);
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

/** Compares two keys in constant time. */
export function isSameKey(presented: string, expected: string): boolean {
  return timingSafeEqual(digest(presented), digest(expected));
}

function digest(key: string): Buffer {
  return hash('sha256', key, 'buffer');
}
