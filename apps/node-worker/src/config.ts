/** Configuration of the worker, from its command line and environment. */
export interface WorkerConfig {
  readonly hostUrl: URL;
  readonly workerId: string;
  readonly requestId: string;
  readonly maxMessageBytes: number;
  /** Set exactly when the host URL is https. */
  readonly tls: TlsSources | undefined;
  readonly reconnectMs: number;
  /** 0 opens no health port. */
  readonly healthPort: number;
  readonly tracesStart: boolean;
  /** Runs every invocation of a v4 app through the library, as the official worker does. */
  readonly usesPlainLibrary: boolean;
}

/** Each value is PEM or the path of a PEM file. */
export interface TlsSources {
  readonly key: string;
  readonly cert: string;
  readonly ca: string;
}

/** Reports every problem of the configuration, not only the first. */
class ConfigurationError extends Error {
  readonly code = 'NODE_WORKER_CONFIGURATION';
  readonly problems: readonly string[];

  constructor(problems: readonly string[]) {
    super(`The worker cannot start: ${problems.join('; ')}.`);
    this.problems = problems;
  }
}

/** The variables, for docs/configuration.md. All are optional, except the TLS ones with an https URL. */
export const nodeWorkerVariables = [
  {
    name: 'DROVER_WORKER_KEY',
    about: 'Private key of the worker. Required for an https URL.',
    expects: 'PEM, or the path of a file with PEM',
  },
  {
    name: 'DROVER_WORKER_CERT',
    about: 'Certificate of the worker. Required for an https URL.',
    expects: 'PEM, or the path of a file with PEM',
  },
  {
    name: 'DROVER_WORKER_CA',
    about: 'Certificate of the authority that signs the host certificate. Required for an https URL.',
    expects: 'PEM, or the path of a file with PEM',
  },
  {
    name: 'DROVER_WORKER_RECONNECT_MS',
    about:
      'How long the worker tries to reconnect to a host that accepts returning workers. 0 ends the worker at once.',
    expects: 'a whole number from 0 to 86400000',
    defaultText: '30000',
  },
  {
    name: 'DROVER_WORKER_HEALTH_PORT',
    about: 'Port that answers GET /healthz. 0 opens none.',
    expects: 'a whole number from 0 to 65535',
    defaultText: '0',
  },
  {
    name: 'DROVER_WORKER_TRACE_START',
    about: '1 prints the time from process start to StartStream.',
    expects: '0 or 1',
    defaultText: '0',
  },
  {
    name: 'DROVER_WORKER_PLAIN_LIBRARY',
    about: '1 runs every invocation of a v4 app through the library, without the fast path.',
    expects: '0 or 1',
    defaultText: '0',
  },
] as const;

/** Variables that are deleted before the app is loaded. */
export const secretVariables = ['DROVER_WORKER_KEY', 'DROVER_WORKER_CERT', 'DROVER_WORKER_CA'] as const;

type Environment = Readonly<Record<string, string | undefined>>;

/** Reads the command line and the environment. Throws one ConfigurationError that lists every problem. */
export function parseWorkerConfig(args: readonly string[], environment: Environment): WorkerConfig {
  const options = parseOptions(args);
  const problems: string[] = [];
  const required = (newer: string, older: string): string => {
    const value = options.get(newer) ?? options.get(older) ?? '';
    if (value === '') problems.push(`--${newer} is missing`);
    return value;
  };
  const whole = (name: string, value: string, min: number, max: number): number => {
    const number = Number(value);
    if (/^\d+$/.test(value) && number >= min && number <= max) return number;
    problems.push(`${name} is ${JSON.stringify(value)} (expected a whole number from ${min} to ${max})`);
    return min;
  };
  const variable = (name: string, fallback: string, max: number): number =>
    whole(name, environment[name] || fallback, 0, max);

  const hostUrl = parseUrl(options, problems);
  const workerId = required('functions-worker-id', 'workerId');
  const requestId = required('functions-request-id', 'requestId');
  const length = required('functions-grpc-max-message-length', 'grpcMaxMessageLength');
  const config: WorkerConfig = {
    hostUrl,
    workerId,
    requestId,
    maxMessageBytes: length === '' ? 0 : whole('--functions-grpc-max-message-length', length, 1, 2 ** 32),
    tls: hostUrl.protocol === 'https:' ? tlsSources(environment, problems) : undefined,
    reconnectMs: variable('DROVER_WORKER_RECONNECT_MS', '30000', 86_400_000),
    healthPort: variable('DROVER_WORKER_HEALTH_PORT', '0', 65_535),
    tracesStart: variable('DROVER_WORKER_TRACE_START', '0', 1) === 1,
    usesPlainLibrary: variable('DROVER_WORKER_PLAIN_LIBRARY', '0', 1) === 1,
  };
  if (problems.length > 0) throw new ConfigurationError(problems);
  return Object.freeze(config);
}

function parseUrl(options: ReadonlyMap<string, string>, problems: string[]): URL {
  const unusable = new URL('http://127.0.0.1:0/');
  const [host, port] = [options.get('host'), options.get('port')];
  const text = options.get('functions-uri') || (host && port ? `http://${host}:${port}/` : '');
  if (text === '') {
    problems.push('--functions-uri is missing (or --host and --port)');
    return unusable;
  }
  if (URL.canParse(text)) {
    const url = new URL(text);
    if ((url.protocol === 'http:' || url.protocol === 'https:') && url.host !== '') return url;
  }
  problems.push(`--functions-uri is ${JSON.stringify(text)} (expected an http or https URL)`);
  return unusable;
}

function tlsSources(environment: Environment, problems: string[]): TlsSources {
  const read = (name: string): string => {
    const value = environment[name] ?? '';
    if (value === '') problems.push(`${name} is missing (an https URL requires it)`);
    return value;
  };
  return { key: read('DROVER_WORKER_KEY'), cert: read('DROVER_WORKER_CERT'), ca: read('DROVER_WORKER_CA') };
}

/** Parses `--name value` and `--name=value`. Ignores everything else: hosts pass options of their own. */
function parseOptions(args: readonly string[]): Map<string, string> {
  const options = new Map<string, string>();
  for (let at = 0; at < args.length; at++) {
    const [, name, , inline] = /^--([\w-]+)(=([\s\S]*))?$/.exec(args[at] ?? '') ?? [];
    if (name === undefined) continue;
    const next = args[at + 1];
    if (inline !== undefined) options.set(name, inline);
    else if (next !== undefined && !next.startsWith('--')) {
      options.set(name, next);
      at++;
    }
  }
  return options;
}
