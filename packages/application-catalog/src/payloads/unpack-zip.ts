import { open } from 'node:fs/promises';
import path from 'node:path';
import { crc32 } from 'node:zlib';
import { makeDirectories } from '@drover/service-kit';
import yauzl from 'yauzl';
import { applicationPayloadInvalid, applicationPayloadTooLarge } from '../errors.js';
import { EntryNames, entryProblem, quoteName } from './entry-names.js';

export interface PayloadLimits {
  /** Of the zip. */
  readonly zipBytes: number;
  /** Of all unpacked files together. */
  readonly unpackedBytes: number;
  readonly files: number;
}

interface CheckedEntry {
  readonly entry: yauzl.Entry;
  readonly name: string;
}

/** Apps compress to a third or so. Much more is a bomb, unless the result is small enough to do no harm. */
const maxRatio = 100;
const harmlessBytes = 64 * 1_024 ** 2;
/** Files that are written at a time: each is flushed to disk, which is mostly waiting. */
const writers = 8;

/**
 * Unpacks a zip into a directory that does not exist yet. All entries are checked before the first file is written; sizes and checksums
 * are checked again while files are written. Throws APPLICATION_PAYLOAD_INVALID, which names the entry, or
 * APPLICATION_PAYLOAD_TOO_LARGE; the caller then removes the directory.
 */
export async function unpackZip(file: string, directory: string, limits: PayloadLimits): Promise<void> {
  const zip = await yauzl.openPromise(file, { autoClose: false, decodeStrings: false }).catch((error: unknown) => {
    throw damaged(error);
  });
  try {
    const entries = await checkEntries(zip, limits);
    checkRoot(entries);
    await makeDirectories(directory);
    const queue = entries.values();
    const write = async (): Promise<void> => {
      for (const { entry, name } of queue) {
        const target = path.join(directory, name);
        await makeDirectories(name.endsWith('/') ? target : path.dirname(target));
        if (!name.endsWith('/')) await writeEntry(zip, entry, name, target);
      }
    };
    await Promise.all(Array.from({ length: writers }, write));
  } finally {
    zip.close();
  }
}

async function checkEntries(zip: yauzl.ZipFile, limits: PayloadLimits): Promise<CheckedEntry[]> {
  const names = new EntryNames();
  const checked: CheckedEntry[] = [];
  let bytes = 0;
  try {
    for await (const entry of zip.eachEntry()) {
      // Backslashes of old Windows programs become slashes first, so that the checks see the path that is written.
      const name = yauzl.getFileNameLowLevel(entry.generalPurposeBitFlag, entry.fileNameRaw, entry.extraFields, false);
      const problem =
        entryProblem({
          name,
          unixMode: entry.externalFileAttributes >>> 16,
          isEncrypted: entry.isEncrypted(),
          isReadable: entry.canDecodeFileData(),
        }) ?? names.add(name);
      if (problem !== undefined)
        throw applicationPayloadInvalid({ problem: `the entry ${quoteName(name)} ${problem}.` });
      checked.push({ entry, name });
      bytes += entry.uncompressedSize;
      if (checked.length > limits.files) throw tooLarge('zip', limits.files, 'files', 'DROVER_PAYLOAD_FILES');
      if (bytes > limits.unpackedBytes)
        throw tooLarge('unpacked zip', limits.unpackedBytes, 'bytes', 'DROVER_PAYLOAD_UNPACKED_BYTES');
    }
  } catch (error) {
    throw damaged(error);
  }
  if (bytes > harmlessBytes && bytes > zip.fileSize * maxRatio)
    throw applicationPayloadInvalid({
      problem: `it unpacks to ${bytes} bytes, more than ${maxRatio} times its size. Leave out generated files.`,
    });
  return checked;
}

/** A zip of the folder instead of its contents is the usual mistake. */
function checkRoot(entries: readonly CheckedEntry[]): void {
  if (entries.some(({ name }) => name === 'host.json')) return;
  const nested = entries.find(({ name }) => name.endsWith('/host.json'))?.name;
  const problem =
    nested === undefined
      ? 'it has no host.json at its root. Pack the folder of a function app'
      : `its host.json is ${quoteName(nested)}, not at the root. Pack the contents of the folder, not the folder`;
  throw applicationPayloadInvalid({ problem: `${problem}.` });
}

async function writeEntry(zip: yauzl.ZipFile, entry: yauzl.Entry, name: string, target: string): Promise<void> {
  let checksum = 0;
  // Executable, because zips of Windows carry no permissions; read-only, because the folder is named after its contents.
  const handle = await open(target, 'wx', 0o555);
  try {
    const contents = await zip.openReadStreamPromise(entry);
    for await (const chunk of contents as AsyncIterable<Buffer>) {
      checksum = crc32(chunk, checksum);
      await handle.appendFile(chunk);
    }
    await handle.sync();
  } catch (error) {
    if (isSystemError(error)) throw error;
    throw damaged(error, name);
  } finally {
    await handle.close();
  }
  if (checksum !== entry.crc32)
    throw applicationPayloadInvalid({ problem: `the checksum of ${quoteName(name)} is wrong. Pack the app again.` });
}

function tooLarge(what: string, limit: number, unit: string, variable: string): Error {
  return applicationPayloadTooLarge({ what, limit, unit, variable });
}

/** Errors of the reader mean that the zip is damaged; ours and those of the file system keep their meaning. */
function damaged(error: unknown, name?: string): unknown {
  if (error instanceof Error && 'code' in error && !isZlibError(error)) return error;
  const reason = error instanceof Error ? error.message : String(error);
  const place = name === undefined ? 'it' : `the entry ${quoteName(name)}`;
  return applicationPayloadInvalid({ problem: `${place} cannot be read (${reason}). Pack the app again.` }, error);
}

function isZlibError(error: Error & { readonly code: unknown }): boolean {
  return String(error.code).startsWith('Z_');
}

function isSystemError(error: unknown): boolean {
  return error instanceof Error && 'syscall' in error;
}
