import { diskFull, directoryUnusable } from './errors.js';

const unusable: Readonly<Record<string, string>> = {
  EACCES: 'permission denied',
  EPERM: 'not permitted',
  EROFS: 'the file system is read-only',
  ENOTDIR: 'a part of the path is a file',
  EEXIST: 'it is a file',
  EISDIR: 'a directory exists in place of a file',
  ELOOP: 'its symbolic links form a loop',
  ENAMETOOLONG: 'the path is too long',
};

/** Returns the errno name of a failed system call. */
export function errnoOf(error: unknown): string | undefined {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : undefined;
}

/** Translates a failed system call below `path` into a coded error; returns any other error unchanged. */
export function explainFileFault(path: string, error: unknown): unknown {
  const errno = errnoOf(error) ?? '';
  if (errno === 'ENOSPC' || errno === 'EDQUOT') return diskFull({ path }, error);
  const reason = unusable[errno];
  return reason === undefined ? error : directoryUnusable({ path, reason: `${reason} (${errno})` }, error);
}

/** Runs `act`, which works on files below `path`, and translates the errors of the file system. */
export async function onFiles<T>(path: string, act: () => Promise<T>): Promise<T> {
  try {
    return await act();
  } catch (error) {
    throw explainFileFault(path, error);
  }
}
