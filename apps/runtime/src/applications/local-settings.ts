import type { CorsPolicy } from '@drover/http-edge';
import type { ApplicationProblem } from './host-json.js';
import { isJsonObject, parseJsonText } from './json-text.js';

export interface LocalSettings {
  /** Settings of the app. The environment takes precedence. */
  readonly values: Readonly<Record<string, string>>;
  readonly httpPort: number | undefined;
  readonly cors: CorsPolicy | undefined;
  readonly problems: readonly ApplicationProblem[];
}

export const localSettingsFile = 'local.settings.json';
const file = localSettingsFile;

/** Reads local.settings.json. `text` is undefined if the file does not exist, as in deployed apps. */
export function parseLocalSettings(text: string | undefined): LocalSettings {
  const nothing = { values: {}, httpPort: undefined, cors: undefined };
  if (text === undefined) return { ...nothing, problems: [] };
  const parsed = parseJsonText(text);
  if ('problem' in parsed) return { ...nothing, problems: [error(parsed.problem)] };
  const { value } = parsed;
  if (!isJsonObject(value)) return { ...nothing, problems: [error('must be an object')] };
  if (value['IsEncrypted'] === true) {
    const problem = 'is encrypted. Run "func settings decrypt" in the app, then start again';
    return { ...nothing, problems: [error(problem)] };
  }
  const problems: ApplicationProblem[] = [];
  const values = {
    ...readTexts(value, 'ConnectionStrings', 'ConnectionStrings__', problems),
    ...readTexts(value, 'Values', '', problems),
  };
  const host = isJsonObject(value['Host']) ? value['Host'] : {};
  return { values, httpPort: readPort(host['LocalHttpPort'], problems), cors: readCors(host, problems), problems };
}

/** Merges the settings of the file and the environment, which takes precedence. */
export function mergeSettings(
  local: Readonly<Record<string, string>>,
  environment: Readonly<Record<string, string | undefined>>,
): Readonly<Record<string, string | undefined>> {
  return { ...local, ...environment };
}

function readTexts(
  settings: Readonly<Record<string, unknown>>,
  name: string,
  prefix: string,
  problems: ApplicationProblem[],
): Record<string, string> {
  const given = settings[name] ?? {};
  const found: Record<string, string> = Object.create(null);
  if (!isJsonObject(given)) problems.push(error(`${name} must be an object`));
  else
    for (const [key, value] of Object.entries(given)) {
      if (typeof value === 'string') found[prefix + key] = value;
      else if (typeof value === 'number' || typeof value === 'boolean') found[prefix + key] = String(value);
      else if (value !== null)
        problems.push(error(`${name}.${key} must be a string: settings have no lists or objects`));
    }
  return found;
}

function readPort(raw: unknown, problems: ApplicationProblem[]): number | undefined {
  if (raw === undefined || raw === null) return undefined;
  const port = Number(raw);
  if (Number.isInteger(port) && port >= 0 && port <= 65_535) return port;
  problems.push(error(`Host.LocalHttpPort must be a port, not ${JSON.stringify(raw)}`));
  return undefined;
}

function readCors(host: Readonly<Record<string, unknown>>, problems: ApplicationProblem[]): CorsPolicy | undefined {
  const { CORS: cors, CORSCredentials: credentials } = host as { CORS?: unknown; CORSCredentials?: unknown };
  if (cors === undefined || cors === null || cors === '') return undefined;
  if (typeof cors !== 'string') {
    problems.push(error('Host.CORS must be a string: origins separated by commas, or "*"'));
    return undefined;
  }
  const origins = cors.split(',').map((origin) => origin.trim().replace(/\/$/, ''));
  const allowsCredentials = credentials === true;
  if (allowsCredentials && origins.includes('*'))
    problems.push({
      severity: 'warning',
      file,
      problem:
        'Host.CORSCredentials has no effect while Host.CORS is "*": browsers allow credentials to named origins only',
    });
  return { origins: origins.filter((origin) => origin !== ''), allowsCredentials };
}

function error(problem: string): ApplicationProblem {
  return { severity: 'error', file, problem };
}
