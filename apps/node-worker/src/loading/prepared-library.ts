import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';

const libraryName = '@azure/functions';

/** What the warm-up calls of the v4 library. */
export interface FunctionsLibrary {
  readonly app: Readonly<
    Record<'http' | 'storageQueue', (name: string, options: Readonly<Record<string, unknown>>) => void>
  >;
}

/**
 * The v4 library, loaded by a placeholder before it knows its app: loading it takes longer than loading most apps.
 *
 * An app whose own copy is the same byte for byte, and requires the same packages, gets the prepared one in place of its own.
 * Every other app loads its own. The copy of the worker's own dependencies is prepared, never that of an app: no code of one
 * application may run in the process of another.
 */
export class PreparedLibrary {
  readonly #workerFile: string;
  #module: NodeJS.Module | undefined;

  /** `workerFile` is the file from which the copy of the worker is found. */
  constructor(workerFile: string) {
    this.#workerFile = workerFile;
  }

  /** Loads the copy of the worker; returns undefined when there is none. */
  load(): FunctionsLibrary | undefined {
    const require = createRequire(this.#workerFile);
    let file: string;
    try {
      file = require.resolve(libraryName);
    } catch {
      return undefined; // the worker was installed without it: apps load their own
    }
    const library = require(file) as FunctionsLibrary; // the package says so
    this.#module = require.cache[file];
    return library;
  }

  /** Makes the app in a directory load the prepared library. Returns false when the app has another one or none. */
  offerTo(directory: string): boolean {
    if (!this.#module) return false;
    const { cache, resolve } = createRequire(path.join(directory, 'package.json'));
    const copies = new Map<string, NodeJS.Module>();
    try {
      if (!collectCopies(resolve(libraryName), this.#module, copies)) return false;
    } catch {
      return false; // not installed, or not readable: the app finds out itself
    }
    for (const [file, module] of copies) cache[file] ??= module;
    return true;
  }
}

/**
 * Adds the counterpart of a prepared module and of those it required, as `file` finds them. Returns false at the first that
 * differs. Takes every required module to be the main file of a package, as all are that the library requires.
 */
function collectCopies(file: string, prepared: NodeJS.Module, copies: Map<string, NodeJS.Module>): boolean {
  if (copies.has(file)) return true;
  if (file !== prepared.filename && !readFileSync(file).equals(readFileSync(prepared.filename))) return false;
  copies.set(file, prepared);
  const { resolve } = createRequire(file);
  return prepared.children.every((child) => collectCopies(resolve(packageOf(child.filename)), child, copies));
}

/** Returns the name of the package that a file belongs to. */
const packageOf = (file: string): string => /.*[\\/]node_modules[\\/]((?:@[^\\/]+[\\/])?[^\\/]+)/.exec(file)?.[1] ?? '';
