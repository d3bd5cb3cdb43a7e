import { readFile } from 'node:fs/promises';
import path from 'node:path';
import type { RuntimeKeys } from '@drover/contracts';
import type { ClientFlags } from '../flags.js';
import { renderFunctions } from '../output/banner.js';
import { readCredentials } from '../up/credentials.js';
import { DataDirectory } from '../up/data-directory.js';
import { credentialsMissing } from '../up/errors.js';
import { applicationName, fetchRuntimeKeys, servedFunctions } from '../up/served-functions.js';

/** Lists the functions of all apps with their URLs and keys. */
export async function listFunctionKeys(flags: ClientFlags, host: NodeJS.Process): Promise<void> {
  const { url, masterKey } = await findServer(flags, host.env);
  const keys = await fetchRuntimeKeys(url, masterKey);
  const functions = servedFunctions(keys, url);
  if (flags.json) return void host.stdout.write(`${JSON.stringify({ url, ...keys })}\n`);
  for (const application of keys.applications) {
    const name = applicationName(application.name);
    const own = functions.filter((one) => one.application === name);
    host.stdout.write(`${[name, ...renderFunctions(own), ...renderKeys(application)].join('\n')}\n\n`);
  }
  if (keys.applications.length === 0)
    host.stderr.write('No application is served. Start with "drover up --app <directory>".\n');
}

function renderKeys({ requiresKeys, hostKeys, functions }: RuntimeKeys['applications'][number]): readonly string[] {
  if (!requiresKeys) return ['    Function keys are off: every function can be called without one.'];
  const ofFunctions = functions
    .filter(({ http }) => http !== undefined && http.authLevel !== 'anonymous')
    .flatMap(({ name, keys }) => keys.map((key) => [`key of ${name}`, key.value] as const));
  const rows = [...hostKeys.map((key) => ['key of all functions', key.value] as const), ...ofFunctions];
  const width = Math.max(0, ...rows.map(([whose]) => whose.length));
  return rows.map(([whose, value]) => `    ${whose.padEnd(width)}  ${value}`);
}

/** Finds the platform and its master key: in the environment, or in the data directory. */
async function findServer(
  flags: ClientFlags,
  environment: NodeJS.ProcessEnv,
): Promise<{ readonly url: string; readonly masterKey: string }> {
  const { DROVER_URL: url, DROVER_FUNCTIONS_MASTER_KEY: configured, DROVER_DATA_DIR = '.drover' } = environment;
  if (flags.dataDir === undefined && url && configured) return { url, masterKey: configured };
  const directory = new DataDirectory(flags.dataDir ?? DROVER_DATA_DIR);
  const credentials = await readCredentials(directory.credentials);
  if (!credentials || credentials.url === '') throw credentialsMissing({ file: directory.credentials });
  const file = environment['DROVER_FUNCTIONS_MASTER_KEY_FILE'] ?? directory.functionsMasterKey;
  return { url: credentials.url, masterKey: configured ?? (await readKey(path.resolve(file))) };
}

async function readKey(file: string): Promise<string> {
  try {
    return (await readFile(file, 'utf8')).trim();
  } catch (error) {
    const reason = error instanceof Error && 'code' in error ? String(error.code) : String(error);
    throw new Error(
      `The master key ${file} cannot be read (${reason}). Run as the user of "drover up", or set DROVER_FUNCTIONS_MASTER_KEY.`,
      { cause: error },
    );
  }
}
