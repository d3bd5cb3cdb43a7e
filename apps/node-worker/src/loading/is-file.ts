import { statSync } from 'node:fs';

/** True for what can be read as a file; whatever else is at the path, or on the way to it, is no file. */
export function isFile(path: string): boolean {
  try {
    return statSync(path, { throwIfNoEntry: false })?.isFile() === true;
  } catch {
    return false;
  }
}
