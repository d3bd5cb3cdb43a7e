import { diskFull, directoryUnusable } from './errors.js';

const unusable: Readonly<Record<string, string>> = {
  EACCES: 'permission denied',
  EPERM: 'not permitted',
  EROFS: 'the file system is read-only',
  ENOTDIR: 'a part of the path is a file',
  EEXIST: 'a file stands there',
  EISDIR: 'a directory stands where a file belongs',
  ELOOP: 'its symbolic links lead in a circle',
  ENAMETOOLONG: 'the path is too long',
};

/** The errno name that system calls put on their errors. */
export function errnoOf(error: unknown): string | undefined {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : undefined;
}

/** What a failed system call below `path` means to whoever chose the path; anything unforeseen stays as it is. */
export function explainFileFault(path: string, error: unknown): unknown {
  const errno = errnoOf(error) ?? '';
  if (errno === 'ENOSPC' || errno === 'EDQUOT') return diskFull({ path }, error);
  const reason = unusable[errno];
  return reason === undefined ? error : directoryUnusable({ path, reason: `${reason} (${errno})` }, error);
}

/** Runs `act`, which works on files below `path`, and explains what the file system refuses. */
export async function onFiles<T>(path: string, act: () => Promise<T>): Promise<T> {
  try {
    return await act();
  } catch (error) {
    throw explainFileFault(path, error);
  }
}
