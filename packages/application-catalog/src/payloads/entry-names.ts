/** What is known of an entry of a zip before it is unpacked. */
export interface ZipEntryHead {
  /** With forward slashes; directories end with one. */
  readonly name: string;
  /** Upper half of its external attributes: type and permissions in the encoding of Unix; 0 if it was not packed there. */
  readonly unixMode: number;
  readonly isEncrypted: boolean;
  readonly isReadable: boolean;
}

const maxPathBytes = 1_024;
const maxSegmentBytes = 255;
const typeMask = 0o170000;
const fileTypes = new Set([0, 0o100000]);
const directoryType = 0o040000;

/** Returns why an entry must not be unpacked, as the end of a sentence about it; undefined if it may. */
export function entryProblem({ name, unixMode, isEncrypted, isReadable }: ZipEntryHead): string | undefined {
  const type = unixMode & typeMask;
  if (type === 0o120000) return 'is a symbolic link. Pack the file that it points to';
  if (name.endsWith('/') ? type !== 0 && type !== directoryType : !fileTypes.has(type))
    return 'is neither a file nor a directory. Leave it out';
  if (isEncrypted) return 'is encrypted. Pack it without a password';
  if (!isReadable) return 'is compressed by a method that is not supported. Use deflate';
  return nameProblem(name);
}

function nameProblem(name: string): string | undefined {
  if (name.startsWith('/') || /^[A-Za-z]:/.test(name)) return 'has an absolute path. Pack paths relative to the app';
  const segments = (name.endsWith('/') ? name.slice(0, -1) : name).split('/');
  if (segments.includes('..')) return 'leads outside of the app. Pack paths relative to the app';
  if (segments.some((segment) => segment === '' || segment === '.')) return 'has an empty part in its path. Rename it';
  if (/\p{Cc}/u.test(name)) return 'has control characters in its name. Rename it';
  if (Buffer.byteLength(name) > maxPathBytes || segments.some((one) => Buffer.byteLength(one) > maxSegmentBytes))
    return `has a longer name than file systems allow. Rename it`;
  return undefined;
}

/** Finds names that cannot exist beside each other: the same file twice, or a file that is a directory elsewhere. */
export class EntryNames {
  readonly #files = new Set<string>();
  readonly #directories = new Set<string>();

  /** Returns why the name collides with an earlier one; undefined if it does not. */
  add(name: string): string | undefined {
    const isDirectory = name.endsWith('/');
    const path = isDirectory ? name.slice(0, -1) : name;
    const segments = path.split('/');
    for (let depth = 1; depth < segments.length; depth += 1) this.#directories.add(segments.slice(0, depth).join('/'));
    const parent = segments.slice(0, -1).find((_, depth) => this.#files.has(segments.slice(0, depth + 1).join('/')));
    if (parent !== undefined) return 'is inside of an entry that is a file. Pack the app again';
    if (isDirectory) {
      this.#directories.add(path);
      return this.#files.has(path) ? 'is a file and a directory. Pack the app again' : undefined;
    }
    if (this.#files.has(path)) return 'exists twice. Pack the app again';
    if (this.#directories.has(path)) return 'is a file and a directory. Pack the app again';
    this.#files.add(path);
    return undefined;
  }
}

/** Quotes a name of an archive, which may hold anything, for a message. */
export function quoteName(name: string): string {
  return JSON.stringify(name.length > 200 ? `${name.slice(0, 200)}…` : name);
}
