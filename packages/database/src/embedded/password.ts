import path from 'node:path';
import type { Randomness } from '@drover/service-kit';
import { readIfThere, writePrivateFile } from './durable-files.js';
import { passwordLost } from './errors.js';
import type { Place } from './place.js';

export function passwordFile(place: Place): string {
  return path.join(place.directory, 'password');
}

/** A new password, on disk before any cluster knows it. */
export async function makePassword(place: Place, randomness: Randomness): Promise<string> {
  const password = randomness.bytes(24).toString('base64url');
  await writePrivateFile(passwordFile(place), `${password}\n`);
  return password;
}

/** The password of the cluster that is there. */
export async function readPassword(place: Place): Promise<string> {
  const password = await readIfThere(passwordFile(place));
  if (password) return password;
  throw passwordLost({ file: passwordFile(place), cluster: place.cluster, reason: 'is missing or empty' });
}
