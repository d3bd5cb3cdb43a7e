import path from 'node:path';
import type { Randomness } from '@drover/service-kit';
import { readIfExists, writePrivateFile } from './durable-files.js';
import { passwordLost } from './errors.js';
import type { ClusterLocation } from './cluster-location.js';

export function passwordFile(location: ClusterLocation): string {
  return path.join(location.directory, 'password');
}

/** Creates a password and writes it to disk before a cluster uses it. */
export async function makePassword(location: ClusterLocation, randomness: Randomness): Promise<string> {
  const password = randomness.bytes(24).toString('base64url');
  await writePrivateFile(passwordFile(location), `${password}\n`);
  return password;
}

/** Returns the password of the existing cluster. */
export async function readPassword(location: ClusterLocation): Promise<string> {
  const password = await readIfExists(passwordFile(location));
  if (password) return password;
  throw passwordLost({ file: passwordFile(location), cluster: location.cluster, reason: 'is missing or empty' });
}
