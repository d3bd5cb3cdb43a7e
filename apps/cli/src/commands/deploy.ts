import { readFile, stat } from 'node:fs/promises';
import path from 'node:path';
import { packFolder } from '@drover/application-catalog';
import { applicationNameOfFolder, applicationRoutes, type Client, type NewApplicationVersion } from '@drover/contracts';
import type { ClientFlags } from '../flags.js';
import { counted, trafficText } from '../output/application-lines.js';
import { printJson } from '../output/print-json.js';
import { UploadProgress } from '../output/upload-progress.js';
import { connect } from './connect.js';
import { readScaleSettings, type ScaleFlags } from './scale-flags.js';
import { sendReporting } from './send-reporting.js';
import { usualWatchMs, watchVersion } from './watch-version.js';

type DeployFlags = ClientFlags &
  ScaleFlags & {
    readonly app?: string;
    readonly traffic?: number;
    readonly setting?: readonly string[];
    readonly settings?: string;
    readonly inPlace?: boolean;
    readonly watchFor?: number;
  };

/** A large app takes a while to travel, to be unpacked and to be loaded by a worker. */
const timeoutMs = 10 * 60_000;

/** Deploys a folder or a zip file as a version of an application. */
export async function deploy(given: string, flags: DeployFlags, host: NodeJS.Process): Promise<void> {
  const source = path.resolve(given);
  const isZip = await isZipFile(source);
  const app = flags.app ?? applicationNameOfFolder(path.basename(source, isZip ? '.zip' : ''));
  const scaling = readScaleSettings(flags);
  const settings = await readSettings(flags);
  const progress = new UploadProgress(host.stderr);
  const fetch = sendReporting((sent, of) => progress.show('Sending', sent, of));
  const client = await connect(applicationRoutes, flags, host, { timeoutMs, fetch });
  const body: NewApplicationVersion = {
    ...(await uploaded(client, { app, source, isZip, isInPlace: flags.inPlace === true }, progress)),
    ...(flags.traffic !== undefined && { trafficPercent: flags.traffic }),
    ...(settings && { settings }),
    ...(scaling && { scaling }),
  };
  const deployed = await client.deployApplication({ params: { app }, body });
  const { version, application } = deployed;
  if (flags.json) printJson(host, deployed);
  else printDeployed(app, deployed, host);
  const watchMs = flags.watchFor ?? usualWatchMs(host.env);
  if (watchMs === 0) {
    if (application.versions.length > 1 && !flags.json)
      host.stderr.write('It is rolled back if its calls fail. To wait for that, deploy with --watch-for 30s.\n');
    return;
  }
  host.stderr.write(`Watching ${version.version} for ${watchMs / 1_000} s.\n`);
  const watched = { app, version: version.version, generation: application.generation };
  const outcome = await watchVersion(client, watched, watchMs);
  if (outcome.kind === 'rolled-back')
    throw new Error(
      `The version ${version.version} of ${app} was rolled back: ${outcome.reason}. Run "drover apps show ${app}" for its history.`,
    );
  const end = outcome.kind === 'kept' ? 'was not rolled back' : `has no more traffic: ${outcome.by}`;
  host.stderr.write(`${version.version} ${end}.\n`);
}

type Deployed = Awaited<ReturnType<Client<typeof applicationRoutes>['deployApplication']>>;

function printDeployed(app: string, { version, application }: Deployed, host: NodeJS.Process): void {
  host.stdout.write(`${app} ${version.version} is deployed: ${counted(version.functions.length, 'function')}.\n`);
  for (const { name, trigger, isDisabled } of version.functions)
    host.stdout.write(`  ${name}  ${trigger}${isDisabled ? '  disabled' : ''}\n`);
  host.stdout.write(`Traffic: ${trafficText(application.traffic)}\n`);
}

interface DeploySource {
  readonly app: string;
  /** Absolute path of a folder or zip file. */
  readonly source: string;
  readonly isZip: boolean;
  readonly isInPlace: boolean;
}

/** Returns what the platform deploys: the digest of the files that were uploaded, or the folder itself. */
async function uploaded(
  client: Client<typeof applicationRoutes>,
  { app, source, isZip, isInPlace }: DeploySource,
  progress: UploadProgress,
): Promise<Pick<NewApplicationVersion, 'payload' | 'directory'>> {
  if (isInPlace) {
    if (isZip) throw new Error(`${source} is a file. Name a folder with --in-place, or leave --in-place out.`);
    return { directory: source };
  }
  const zip = isZip
    ? await readFile(source)
    : await packFolder(source, (packed, of) => progress.show('Packing', packed, of));
  const { payload, files } = await client.uploadPayload({ params: { app }, upload: new Uint8Array(zip) });
  progress.end(`Uploaded ${counted(files, 'file')} in ${sizeText(zip.length)}.`);
  return { payload };
}

async function isZipFile(source: string): Promise<boolean> {
  const facts = await stat(source).catch(() => undefined);
  if (!facts) throw new Error(`The folder ${source} does not exist. Name the folder of a function app, or a zip file.`);
  return facts.isFile();
}

/** Reads the settings of a file and of the command line; those of the command line take precedence. */
async function readSettings({ setting, settings: file }: DeployFlags): Promise<Record<string, string> | undefined> {
  if (setting === undefined && file === undefined) return undefined;
  const settings = file === undefined ? {} : await readSettingsFile(file);
  for (const text of setting ?? []) {
    const [, name = '', value = ''] = /^([^=]+)=(.*)$/s.exec(text) ?? [];
    if (name === '')
      throw new Error(`The setting "${text}" is invalid. Give a name and a value, such as GREETING=hello.`);
    settings[name] = value;
  }
  return settings;
}

/** A flat object of settings, or the file that Azure's tools use, with the settings in "Values". */
async function readSettingsFile(file: string): Promise<Record<string, string>> {
  let content: unknown;
  try {
    content = JSON.parse((await readFile(file, 'utf8')).replace(/^\uFEFF/, ''));
  } catch (error) {
    throw new Error(`The settings file ${file} cannot be read: ${reasonOf(error)}. Give a JSON file.`, {
      cause: error,
    });
  }
  const values = isRecord(content) && isRecord(content['Values']) ? content['Values'] : content;
  if (!isRecord(values)) throw new Error(`The settings file ${file} has no JSON object. Give names and values.`);
  return Object.fromEntries(
    Object.entries(values).map(([name, value]) => {
      if (typeof value !== 'string' && typeof value !== 'number' && typeof value !== 'boolean')
        throw new Error(`The setting ${name} in ${file} is not a text. Give it a text.`);
      return [name, String(value)];
    }),
  );
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function reasonOf(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : 'it is not valid JSON';
}

function sizeText(bytes: number): string {
  return bytes < 1_048_576 ? `${Math.ceil(bytes / 1_024)} KiB` : `${(bytes / 1_048_576).toFixed(1)} MiB`;
}
