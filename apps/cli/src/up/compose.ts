import { existsSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { controlPlaneErrors } from '@drover/control-plane';
import {
  createObserve,
  inOrder,
  Leash,
  step,
  together,
  type Composition,
  type Environment,
  type ProcessIo,
} from '@drover/service-kit';
import type { UpConfig } from './config.js';
import { CredentialsFile } from './credentials.js';
import { DataDirectory } from './data-directory.js';
import { databaseServer } from './database-server.js';
import { withNodeWorker } from './node-worker-command.js';
import { upReaders } from './observations.js';
import { tryPort } from './port-check.js';
import { RoleLog } from './role-log.js';
import { SupervisedProcess, type Announcement } from './supervised-process.js';

/** Everything that is up, for the one who asked for it. */
export interface UpReport {
  readonly urls: Readonly<Record<string, string>>;
  readonly pids: Readonly<Record<string, number>>;
  readonly credentialsFile: string;
  /** Names of the applications that are served. */
  readonly applications: readonly string[];
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
  const runtime = new SupervisedProcess({
    role: 'runtime-1',
    module: fileURLToPath(new URL('runtime-main.js', import.meta.url)),
    environment: (earlier) => runtimeEnvironment(environment, directory, earlier),
    onLine(line) {
      runtimeLog.write(line);
      presenter.line('runtime-1', line);
    },
    ...io,
  });
  const runtimeLog = new RoleLog(path.join(directory.logs, 'runtime-1.log'));
  // The platform itself will say the same, but only after the database was made: better to know it at once.
  const port = step('port', {
    up: async () => {
      if ((await tryPort(config.host, config.port)) === 'EADDRINUSE') throw controlPlaneErrors.portTaken(config);
    },
  });
  const runtimeUrl = step('runtime URL', {
    up: () => directory.writePrivately(path.basename(directory.runtimeUrl), runtime.announcement['functions'] ?? ''),
  });
  const keys = step('keys', {
    up: async () => {
      await rm(directory.runtimeUrl, { force: true }); // of an earlier start: somebody else may listen there now
      for (const file of [directory.functionsMasterKey, directory.secretsKey]) {
        if (existsSync(file)) continue;
        await directory.writePrivately(path.basename(file), randomness.bytes(32).toString('base64url'));
      }
    },
  });
  const databaseUrl = step('database URL', {
    up: () => directory.writePrivately(path.basename(directory.databaseUrl), database.url.reveal()),
  });
  const report = step('report', {
    up: async () => {
      const { public: url = '' } = platform.announcement;
      await credentials.setUrl(url);
      const { functionRpc = '', functionRpcLoopback = '' } = runtime.announcement;
      const pids = {
        platform: platform.pid ?? 0,
        'runtime-1': runtime.pid ?? 0,
        ...(database.pid !== undefined && { postgres: database.pid }),
      };
      const urls = { public: url, functionRpc, functionRpcLoopback };
      const applications = config.applications
        .split(path.delimiter)
        .filter(Boolean)
        .map((folder) => path.basename(folder));
      presenter.ready({ urls, pids, credentialsFile: directory.credentials, applications });
    },
  });
  return {
    life: inOrder('drover up', [
      directory,
      port,
      step('leash', { down: () => leash.stop() }),
      keys,
      step('logs', { down: () => Promise.all([log.close(), runtimeLog.close()]).then(() => undefined) }),
      // A runtime keeps nothing in the database, and the platform finds it when it is there: nobody waits for the other.
      together('roles', [
        inOrder('platform and its database', [database, databaseUrl, credentials, platform]),
        inOrder('runtime', [runtime, runtimeUrl]),
      ]),
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
  const port = portOf(earlier?.['public']);
  return {
    ...rest,
    DATABASE_URL_FILE: directory.databaseUrl,
    DROVER_BOOTSTRAP_KEY_FILE: directory.credentials,
    DROVER_RUNTIME_URL_FILE: directory.runtimeUrl,
    ...keyFile(environment, 'DROVER_FUNCTIONS_MASTER_KEY', directory.functionsMasterKey),
    ...keyFile(environment, 'DROVER_SECRETS_KEY', directory.secretsKey),
    // Without a cluster, a job is a process of this machine.
    DROVER_JOB_RUNNER: environment['DROVER_JOB_RUNNER'] ?? 'process',
    ...(port && { DROVER_PORT: port }),
  };
}

/** A runtime that is started again stays where the others look for it. */
function runtimeEnvironment(
  environment: Environment,
  directory: DataDirectory,
  earlier: Announcement | undefined,
): NodeJS.ProcessEnv {
  const { DATABASE_URL: _secret, DROVER_SECRETS_KEY: _notItsOwn, ...rest } = withNodeWorker(environment);
  const rpcPort = portOf(earlier?.['functionRpc']);
  return {
    ...rest,
    DROVER_RUNTIME_PORT: portOf(earlier?.['functions']) ?? '0',
    ...keyFile(environment, 'DROVER_FUNCTIONS_MASTER_KEY', directory.functionsMasterKey),
    DROVER_CERTIFICATES_DIR: environment['DROVER_CERTIFICATES_DIR'] ?? directory.certificates,
    ...(rpcPort && { DROVER_RPC_PORT: rpcPort }),
  };
}

/** The key that was made at the first start, unless the user has one of their own. */
function keyFile(environment: Environment, name: string, file: string): NodeJS.ProcessEnv {
  return environment[name] || environment[`${name}_FILE`] ? {} : { [`${name}_FILE`]: file };
}

function portOf(url: string | undefined): string | undefined {
  return url === undefined ? undefined : new URL(url).port;
}
