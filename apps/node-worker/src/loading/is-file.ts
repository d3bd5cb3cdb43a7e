import { statSync } from 'node:fs';

/** True when a file exists at the path. Errors, such as a path through a file, mean false. */
export function isFile(path: string): boolean {
  try {
    return statSync(path, { throwIfNoEntry: false })?.isFile() === true;
  } catch {
    return false;
  }
}
