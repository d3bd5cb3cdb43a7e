import path from 'node:path';
import { collectionWorkerVariables } from '@drover/collection-worker';
import { controlPlaneVariables } from '@drover/control-plane';
import { databaseUrlVariable } from '@drover/database';
import { localHttpPortOf, runtimeVariables } from '@drover/runtime';
import { scaleControllerVariables } from '@drover/scale-controller';
import {
  configurationInvalid,
  integer,
  isLoopback,
  oneOf,
  optionalText,
  parseConfiguration,
  type Configuration,
  type Environment,
} from '@drover/service-kit';
import type { UpFlags } from '../flags.js';

const { databaseUrl: _required, ...platformVariables } = {
  ...collectionWorkerVariables,
  ...scaleControllerVariables,
  ...controlPlaneVariables,
};

export const upVariables = {
  postgresUser: optionalText('DROVER_POSTGRES_USER', {
    about:
      'User that the embedded PostgreSQL runs as if Drover is started as root. Unset: `postgres` if that user exists, else `nobody`.',
  }),
  connectionHandoff: oneOf('DROVER_CONNECTION_HANDOFF', ['on', 'off'], {
    default: 'on',
    about:
      'Whether kept-alive connections that call functions are passed to the runtime, which saves a hop per request. With `off` the platform process proxies every request.',
  }),
  collectionWorkers: integer('DROVER_COLLECTION_WORKERS', {
    min: 0,
    max: 64,
    default: 2,
    about:
      'Processes that serve collections. 0: the platform process serves them, which takes about 140 MB less memory.',
  }),
  databaseUrl: databaseUrlVariable,
  // Also validated here, so that all problems are reported together, before any process starts.
  ...platformVariables,
  ...runtimeVariables,
};

export type UpConfig = Configuration<typeof upVariables>;

/** Returns the environment, overridden by the options of the command line. */
export function withFlags(environment: Environment, flags: UpFlags): Environment {
  return {
    ...environment,
    ...(flags.port !== undefined && { DROVER_PORT: String(flags.port) }),
    ...(flags.host !== undefined && { DROVER_HOST: flags.host }),
    ...(flags.dataDir !== undefined && { DROVER_DATA_DIR: flags.dataDir }),
    ...(flags.app !== undefined && {
      DROVER_FUNCTIONS_APPS: flags.app.map((directory) => path.resolve(directory)).join(path.delimiter),
    }),
    ...(flags.functions !== undefined && { DROVER_FUNCTIONS_ONLY: flags.functions.join(',') }),
    ...(flags.cors !== undefined && { DROVER_CORS_ORIGINS: flags.cors }),
    ...(flags.corsCredentials && { DROVER_CORS_CREDENTIALS: 'on' }),
    ...(flags.watch && { DROVER_HOT_RELOAD: 'on' }),
    ...(flags.workers !== undefined && { DROVER_WORKERS: String(flags.workers) }),
    ...(flags.inspect !== undefined && {
      languageWorkers__node__arguments: `--inspect=${flags.inspect}`,
      // The port must be that of a worker with functions, not of one that waits for an application.
      DROVER_PLACEHOLDERS_MIN: '0',
      DROVER_PLACEHOLDERS_MAX: '0',
    }),
    ...(flags.noKeys && { DROVER_FUNCTION_KEYS: 'off' }),
  };
}

/**
 * Returns the environment with the public port that local.settings.json of an application asks for, as `func start` reads it. A port that
 * is given otherwise takes precedence, and the first application that names one.
 */
export async function withLocalHttpPort(environment: Environment): Promise<Environment> {
  if (environment['DROVER_PORT']) return environment;
  for (const directory of (environment['DROVER_FUNCTIONS_APPS'] ?? '').split(path.delimiter).filter(Boolean)) {
    const port = await localHttpPortOf(directory);
    if (port !== undefined) return { ...environment, DROVER_PORT: String(port) };
  }
  return environment;
}

export function parseUpConfig(environment: Environment): UpConfig {
  const config = parseConfiguration('drover up', upVariables, environment);
  if (config.functionKeys === 'off' && !isLoopback(config.host))
    throw configurationInvalid({
      process: 'drover up',
      problems: ['DROVER_FUNCTION_KEYS must be on (no --no-keys) when DROVER_HOST is reachable from other machines'],
    });
  return config;
}
