import { randomUUID } from 'node:crypto';
import { link, mkdir, open, readFile, unlink } from 'node:fs/promises';
import path from 'node:path';
import { CertificateAuthority, type KeyAndCertificate } from './certificate-authority.js';

/** Both halves in one file, so that it is there as a whole or not at all. */
const file = 'authority.json';

/** The authority that is kept in a directory; made on the first start, and readable by its owner only. */
export async function storedAuthority(directory: string): Promise<CertificateAuthority> {
  await mkdir(directory, { recursive: true, mode: 0o700 });
  const where = path.join(directory, file);
  const known = await read(where);
  if (known) return await CertificateAuthority.open(known);
  const { authority, stored } = await CertificateAuthority.create();
  const draft = path.join(directory, `.${file}.${randomUUID()}`);
  const handle = await open(draft, 'wx', 0o600);
  try {
    await handle.writeFile(JSON.stringify(stored));
    await handle.sync();
    await link(draft, where); // there as a whole, and never over another
    return authority;
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'EEXIST')) throw error;
    return await storedAuthority(directory); // somebody else was quicker
  } finally {
    await handle.close();
    await unlink(draft);
  }
}

async function read(where: string): Promise<KeyAndCertificate | undefined> {
  let text: string;
  try {
    text = await readFile(where, 'utf8');
  } catch {
    return undefined;
  }
  const stored = JSON.parse(text) as Partial<KeyAndCertificate>;
  if (typeof stored.key !== 'string' || typeof stored.cert !== 'string')
    throw new Error(
      `${where} is not the authority's key and certificate; restore it, or remove it to start with a new one`,
    );
  return { key: stored.key, cert: stored.cert };
}
