import path from 'node:path';
import { localSettingsFile, parseLocalSettings } from './local-settings.js';
import { readSmallFile } from './read-small-file.js';

/** Returns `Host.LocalHttpPort` of an application's local.settings.json. Its problems are reported when the application is deployed. */
export async function localHttpPortOf(directory: string): Promise<number | undefined> {
  const read = await readSmallFile(path.join(directory, localSettingsFile));
  return 'text' in read ? parseLocalSettings(read.text).httpPort : undefined;
}
