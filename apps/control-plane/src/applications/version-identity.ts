import { createHash } from 'node:crypto';
import { open, stat } from 'node:fs/promises';
import path from 'node:path';
import type { SettingsSeal } from '@drover/application-catalog';
import { hashFolder } from '@drover/service-kit';
import { applicationFolderUnusable } from './errors.js';

/** Hexadecimal digits of the hash that make a version. */
const digits = 16;
const localSettings = 'local.settings.json';
/** Not code. Settings are secret: they enter the version by a keyed hash. */
const leftOut = new Set(['.git', '.DS_Store', localSettings]);
const maxSettingsBytes = 1_048_576;

/** Names a version after its files and settings: equal ones have the same name. */
export function versionOf(
  contents: string,
  settings: Readonly<Record<string, string>>,
  seal: Pick<SettingsSeal, 'fingerprint'>,
): string {
  const hash = createHash('sha256').update(contents);
  if (Object.keys(settings).length > 0) hash.update(`\nsettings ${seal.fingerprint(settings)}`);
  return `c${hash.digest('hex').slice(0, digits)}`;
}

/** Hashes a folder with its `local.settings.json`. Throws APPLICATION_FOLDER_UNUSABLE. */
export async function folderContents(
  directory: string,
  limits: { readonly files: number; readonly bytes: number },
  seal: Pick<SettingsSeal, 'fingerprint'>,
): Promise<string> {
  const refuse = (problem: string, cause?: unknown): Error => applicationFolderUnusable({ directory, problem }, cause);
  const stats = await stat(directory).catch((error: unknown) => {
    throw refuse('it does not exist or cannot be read', error);
  });
  if (!stats.isDirectory()) throw refuse('it is not a directory');
  const hashed = await hashFolder(directory, { limits, leaveOut: leftOut, isInstalledByRecord: true });
  if ('over' in hashed)
    throw refuse(`it has more than ${limits[hashed.over]} ${hashed.over}; name the app itself, without data`);
  if ('unreadable' in hashed) throw refuse(`its files cannot be read (${hashed.unreadable})`, hashed.cause);
  const local = await readLocalSettings(path.join(directory, localSettings));
  return local === undefined ? hashed.sha256 : `${hashed.sha256}\nlocal ${seal.fingerprint({ local })}`;
}

/** Undefined if there is none. One that is too large is refused by the runtime, which reads it. */
async function readLocalSettings(file: string): Promise<string | undefined> {
  const handle = await open(file, 'r').catch(() => undefined);
  if (!handle) return undefined;
  try {
    const { size } = await handle.stat();
    return size > maxSettingsBytes ? `${size} bytes` : await handle.readFile('utf8');
  } finally {
    await handle.close();
  }
}
