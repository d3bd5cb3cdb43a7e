import path from 'node:path';
import { hashFolder, type FolderHashOptions } from '@drover/service-kit';
import { applicationTooLarge, applicationUnreadable } from './errors.js';

const shippedLimits: FolderHashOptions['limits'] = { files: 20_000, bytes: 1024 ** 3 };
/** Hexadecimal digits of the hash that make a version. */
const digits = 16;

/** Configuration is part of the metadata version, and secrets must not enter a hash that is shown. */
const notCode = new Set(['host.json', 'local.settings.json', '.git', '.DS_Store']);

/** Hashes the names and contents of an app's files: the same code has the same version on every machine. */
export async function codeVersion(directory: string, limits = shippedLimits): Promise<string> {
  const root = path.resolve(directory);
  const hashed = await hashFolder(root, { limits, leaveOut: notCode, isInstalledByRecord: true });
  if ('over' in hashed) throw applicationTooLarge({ directory: root, limit: `${limits[hashed.over]} ${hashed.over}` });
  if ('unreadable' in hashed) throw applicationUnreadable({ directory: root, reason: hashed.unreadable }, hashed.cause);
  return `c${hashed.sha256.slice(0, digits)}`;
}
