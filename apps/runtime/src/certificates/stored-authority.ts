import { randomUUID } from 'node:crypto';
import { link, open, readFile, unlink } from 'node:fs/promises';
import path from 'node:path';
import { makeDirectories } from '@drover/service-kit';
import { CertificateAuthority, type KeyAndCertificate } from './certificate-authority.js';

/** Key and certificate share one file, so that both exist or neither does. */
const file = 'authority.json';

/** Opens the authority stored in a directory, and creates it on the first start. Its file is readable by the owner only. */
export async function storedAuthority(directory: string): Promise<CertificateAuthority> {
  await makeDirectories(directory, { mode: 0o700 });
  const where = path.join(directory, file);
  const known = await read(where);
  if (known) return await CertificateAuthority.open(known);
  const { authority, stored } = await CertificateAuthority.create();
  const draft = path.join(directory, `.${file}.${randomUUID()}`);
  const handle = await open(draft, 'wx', 0o600);
  try {
    await handle.writeFile(JSON.stringify(stored));
    await handle.sync();
    await link(draft, where); // atomic, and fails if another process was first
    return authority;
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'EEXIST')) throw error;
    return await storedAuthority(directory); // another process was first
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
      `The file ${where} does not hold a key and a certificate. Restore it, or remove it to create a new authority.`,
    );
  return { key: stored.key, cert: stored.cert };
}
