import { readFile } from 'node:fs/promises';
import path from 'node:path';
import type { TlsCredentials } from '@drover/function-rpc';
import { scaleLinkCredentialsUnreadable } from './errors.js';

/** Reads key, certificate and authority from a directory with the file names of a TLS secret of Kubernetes. */
export async function readTlsDirectory(directory: string): Promise<TlsCredentials> {
  try {
    const [key, cert, ca] = await Promise.all(
      ['tls.key', 'tls.crt', 'ca.crt'].map((file) => readFile(path.join(directory, file), 'utf8')),
    );
    return { key: key ?? '', cert: cert ?? '', ca: ca ?? '' };
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw scaleLinkCredentialsUnreadable({ directory, reason }, error);
  }
}
