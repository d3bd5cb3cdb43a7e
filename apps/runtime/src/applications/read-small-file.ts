import { open } from 'node:fs/promises';

/** More than any configuration file needs. */
const limitBytes = 1_048_576;

type SmallFile = { readonly text: string } | { readonly missing: true } | { readonly problem: string };

/** Reads a configuration file. Checks the size first, since the file is not trusted. */
export async function readSmallFile(file: string): Promise<SmallFile> {
  try {
    await using handle = await open(file, 'r');
    const stats = await handle.stat();
    if (!stats.isFile()) return { problem: 'is not a file' };
    if (stats.size > limitBytes) return { problem: `is larger than ${limitBytes} bytes` };
    return { text: await handle.readFile('utf8') };
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : String(error);
    return code === 'ENOENT' || code === 'ENOTDIR' ? { missing: true } : { problem: `cannot be read: ${code}` };
  }
}
