import path from 'node:path';
import { controlPlaneVariables } from '@drover/control-plane';
import { databaseUrlVariable } from '@drover/database';
import { runtimeVariables } from '@drover/runtime';
import { optionalText, parseConfiguration, text, type Configuration, type Environment } from '@drover/service-kit';
import type { UpFlags } from '../flags.js';

const { databaseUrl: _required, ...platformVariables } = controlPlaneVariables;

export const upVariables = {
  dataDir: text('DROVER_DATA_DIR', {
    default: '.drover',
    about: 'Where `drover up` keeps everything. The same as `--data-dir`.',
  }),
  postgresUser: optionalText('DROVER_POSTGRES_USER', {
    about:
      'Only when started as root: the user that the embedded PostgreSQL runs as. Unset: `postgres` if there is one, else `nobody`.',
  }),
  databaseUrl: databaseUrlVariable,
  // Checked here too, so that all problems are seen together and before anything starts.
  ...platformVariables,
  ...runtimeVariables,
};

export type UpConfig = Configuration<typeof upVariables>;

/** The environment with what the command line says on top. */
export function withFlags(environment: Environment, flags: UpFlags): Environment {
  return {
    ...environment,
    ...(flags.port !== undefined && { DROVER_PORT: String(flags.port) }),
    ...(flags.host !== undefined && { DROVER_HOST: flags.host }),
    ...(flags.dataDir !== undefined && { DROVER_DATA_DIR: flags.dataDir }),
    ...(flags.app !== undefined && {
      DROVER_FUNCTIONS_APPS: flags.app.map((directory) => path.resolve(directory)).join(path.delimiter),
    }),
    ...(flags.workers !== undefined && { DROVER_WORKERS: String(flags.workers) }),
    // Who takes any free port wants to run beside others.
    ...(flags.port === 0 && { DROVER_RPC_PORT: environment['DROVER_RPC_PORT'] ?? '0' }),
  };
}

export function parseUpConfig(environment: Environment): UpConfig {
  return parseConfiguration('drover up', upVariables, environment);
}
