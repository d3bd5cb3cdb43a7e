import { existsSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { loadSchema, type Schema } from './schema.js';

/** The folder of this package, found from its sources or its build. */
export const packageFolder = findPackage(path.dirname(fileURLToPath(import.meta.url)));

/** Reads the protocol from the .proto files. */
export function protocolSchema(): Schema {
  return loadSchema(path.join(packageFolder, 'proto'), ['FunctionRpc.proto', 'Settlement.proto']);
}

function findPackage(directory: string): string {
  return existsSync(path.join(directory, 'package.json')) ? directory : findPackage(path.dirname(directory));
}
