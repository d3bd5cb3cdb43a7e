import { stat } from 'node:fs/promises';
import path from 'node:path';
import { applicationUnreadable } from './errors.js';
import type { HostJson } from './host-json-schema.js';
import { parseHostJson, type ApplicationProblem } from './host-json.js';
import { localSettingsFile, mergeSettings, parseLocalSettings, type LocalSettings } from './local-settings.js';
import { readSmallFile } from './read-small-file.js';
import { Settings } from './settings.js';

/** The configuration files of an app, read before any worker loads its code. */
export interface Application {
  /** Absolute. */
  readonly directory: string;
  readonly hostJson: HostJson;
  /** The parsed host.json with overrides, for the metadata version. */
  readonly rawHostJson: unknown;
  readonly settings: Settings;
  /** Names of settings that the app does not set: they have a default for development. */
  readonly defaultSettings: readonly string[];
  readonly local: Pick<LocalSettings, 'cors' | 'httpPort'>;
  /** An error among them prevents the deployment. */
  readonly problems: readonly ApplicationProblem[];
}

/** Reads host.json and local.settings.json in `directory`. Throws APPLICATION_UNREADABLE if it is not a directory. */
export async function readApplication(
  directory: string,
  environment: Readonly<Record<string, string | undefined>>,
  { hasDevelopmentStorage = false }: { readonly hasDevelopmentStorage?: boolean } = {},
): Promise<Application> {
  const root = path.resolve(directory);
  await checkDirectory(root);
  const problems: ApplicationProblem[] = [];
  const local = parseLocalSettings(await readText(root, localSettingsFile, problems));
  const given = mergeSettings(local.values, environment);
  const defaults = hasDevelopmentStorage && lacksStorage(new Settings(given)) ? developmentStorage : {};
  const merged = { ...given, ...defaults };
  const { hostJson, raw, problems: hostProblems } = parseHostJson(await readText(root, 'host.json', problems), merged);
  return {
    directory: root,
    hostJson,
    rawHostJson: raw,
    settings: new Settings(merged),
    defaultSettings: Object.keys(defaults),
    local: { cors: local.cors, httpPort: local.httpPort },
    problems: [...problems, ...local.problems, ...hostProblems],
  };
}

const storageSetting = 'AzureWebJobsStorage';
const developmentStorage: Readonly<Record<string, string>> = { [storageSetting]: 'UseDevelopmentStorage=true' };

/** True if no storage account is named, neither by a connection string nor by a section such as `AzureWebJobsStorage__accountName`. */
function lacksStorage(settings: Settings): boolean {
  return !settings.get(storageSetting)?.trim() && Object.keys(settings.section(storageSetting)).length === 0;
}

async function checkDirectory(directory: string): Promise<void> {
  let isDirectory: boolean;
  try {
    isDirectory = (await stat(directory)).isDirectory();
  } catch (error) {
    const reason = error instanceof Error && 'code' in error ? String(error.code) : String(error);
    throw applicationUnreadable({ directory, reason: reason === 'ENOENT' ? 'it does not exist' : reason }, error);
  }
  if (!isDirectory) throw applicationUnreadable({ directory, reason: 'it is not a directory' });
}

async function readText(root: string, file: string, problems: ApplicationProblem[]): Promise<string | undefined> {
  const read = await readSmallFile(path.join(root, file));
  if ('text' in read) return read.text;
  if ('problem' in read) problems.push({ severity: 'error', file, problem: read.problem });
  return undefined;
}
