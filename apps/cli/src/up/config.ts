import { controlPlaneVariables } from '@drover/control-plane';
import { databaseUrlVariable } from '@drover/database';
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
};

export type UpConfig = Configuration<typeof upVariables>;

/** The environment with what the command line says on top. */
export function withFlags(environment: Environment, flags: UpFlags): Environment {
  return {
    ...environment,
    ...(flags.port !== undefined && { DROVER_PORT: String(flags.port) }),
    ...(flags.host !== undefined && { DROVER_HOST: flags.host }),
    ...(flags.dataDir !== undefined && { DROVER_DATA_DIR: flags.dataDir }),
  };
}

export function parseUpConfig(environment: Environment): UpConfig {
  return parseConfiguration('drover up', upVariables, environment);
}
