import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { controlPlaneErrors } from '@drover/control-plane';
import {
  createObserve,
  inOrder,
  Leash,
  step,
  type Composition,
  type Environment,
  type ProcessIo,
} from '@drover/service-kit';
import type { UpConfig } from './config.js';
import { CredentialsFile } from './credentials.js';
import { DataDirectory } from './data-directory.js';
import { databaseServer } from './database-server.js';
import { upReaders } from './observations.js';
import { tryPort } from './port-check.js';
import { RoleLog } from './role-log.js';
import { SupervisedProcess, type Announcement } from './supervised-process.js';

/** Everything that is up, for the one who asked for it. */
export interface UpReport {
  readonly urls: Readonly<Record<string, string>>;
  readonly pids: Readonly<Record<string, number>>;
  readonly credentialsFile: string;
}

export interface UpPresenter {
  /** A line that a child printed. */
  line(role: string, line: string): void;
  ready(report: UpReport): void;
}

/** The whole platform on one machine: a database, and one child process per role. */
export function composeUp(
  config: UpConfig,
  environment: Environment,
  { sinks, clock, randomness }: ProcessIo,
  presenter: UpPresenter,
): Composition {
  const observe = createObserve(upReaders, sinks);
  const leash = new Leash();
  const io = { leash, clock, randomness, observe };
  const directory = new DataDirectory(config.dataDir);
  const database = databaseServer(config, directory, io);
  const credentials = new CredentialsFile(directory, randomness);
  const log = new RoleLog(path.join(directory.logs, 'platform.log'));
  const platform = new SupervisedProcess({
    role: 'platform',
    module: fileURLToPath(new URL('platform-main.js', import.meta.url)),
    environment: (earlier) => platformEnvironment(environment, directory, earlier),
    onLine(line) {
      log.write(line);
      presenter.line('platform', line);
    },
    ...io,
  });
  // The platform itself will say the same, but only after the database was made: better to know it at once.
  const port = step('port', {
    up: async () => {
      if ((await tryPort(config.host, config.port)) === 'EADDRINUSE') throw controlPlaneErrors.portTaken(config);
    },
  });
  const databaseUrl = step('database URL', {
    up: () => directory.writePrivately(path.basename(directory.databaseUrl), database.url.reveal()),
  });
  const report = step('report', {
    up: async () => {
      const { public: url = '' } = platform.announcement;
      await credentials.setUrl(url);
      const pids = { platform: platform.pid ?? 0, ...(database.pid !== undefined && { postgres: database.pid }) };
      presenter.ready({ urls: { public: url }, pids, credentialsFile: directory.credentials });
    },
  });
  return {
    life: inOrder('drover up', [
      directory,
      port,
      step('leash', { down: () => leash.stop() }),
      database,
      databaseUrl,
      credentials,
      step('log', { down: () => log.close() }),
      platform,
      report,
    ]),
  };
}

/** What the platform process needs, and no secret: those are in files that only this user can read. */
function platformEnvironment(
  environment: Environment,
  directory: DataDirectory,
  earlier: Announcement | undefined,
): NodeJS.ProcessEnv {
  const { DATABASE_URL: _secret, ...rest } = environment;
  const port = earlier?.['public'] === undefined ? undefined : new URL(earlier['public']).port;
  return {
    ...rest,
    DATABASE_URL_FILE: directory.databaseUrl,
    DROVER_BOOTSTRAP_KEY_FILE: directory.credentials,
    ...(port && { DROVER_PORT: port }),
  };
}
