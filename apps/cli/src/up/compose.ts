import type { ChildProcess } from 'node:child_process';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import type { RuntimeKeys } from '@drover/contracts';
import { ConnectionRelay } from '@drover/http-edge';
import { ipcInstanceChannel, serveInstances } from '@drover/instance-provider';
import { isEmulatorsDemand, SupervisedEmulators } from '@drover/runtime';
import {
  createObserve,
  inOrder,
  Leash,
  sleep,
  step,
  SupervisedProcess,
  together,
  type Composition,
  type Environment,
  type ProcessAnnouncement,
  type ProcessIo,
} from '@drover/service-kit';
import {
  collectionWorkerEnvironment,
  platformEnvironment,
  runtimeEnvironment,
  wholePlatformEnvironment,
} from './child-environment.js';
import { LaterCollectionWorkers } from './collection-workers.js';
import type { UpConfig } from './config.js';
import { CredentialsFile } from './credentials.js';
import { DataDirectory } from './data-directory.js';
import { databaseServer } from './database-server.js';
import { roleFailed } from './errors.js';
import { collectionWorkerProgram, hostedWorkers } from './function-workers.js';
import { upReaders } from './observations.js';
import { ProcessLog } from './process-log.js';
import { ScaleLinkPort } from './scale-link-port.js';
import {
  checkPublicPort,
  clearSockets,
  createKeys,
  removeStaleUrls,
  reportReady,
  writeCollectionWorkerUrl,
  writeControlPlaneUrl,
  writeDatabaseUrl,
  writeRuntimeUrl,
  type UpReport,
} from './start-steps.js';

/** How long the runtime waits for the platform to stop. A long request keeps the platform longer: then both drain at the same time. */
const platformFirstMs = 5_000;

/** Prints what happens: for people or as JSON. */
export interface UpPresenter {
  /** A line that a child process printed. */
  line(role: string, line: string): void;
  /** Everything serves. `keys` are undefined if the runtime could not be asked for them. */
  ready(report: UpReport, keys: RuntimeKeys | undefined): void;
}

/** The whole platform on one machine: a database, and one child process per role. */
export function composeUp(
  config: UpConfig,
  environment: Environment,
  { sinks, clock, randomness }: ProcessIo,
  presenter: UpPresenter,
): Composition {
  const leash = new Leash();
  const io = { leash, clock, randomness, observe: createObserve(upReaders, sinks) };
  const directory = new DataDirectory(config.dataDir);
  const database = databaseServer(config, directory, io);
  const credentials = new CredentialsFile(directory, randomness);
  const logs: ProcessLog[] = [];
  const relay = config.connectionHandoff === 'on' ? new ConnectionRelay('platform', 'runtime-1') : undefined;
  const logged = (role: string): ((line: string) => void) => {
    const log = new ProcessLog(path.join(directory.logs, `${role}.log`));
    logs.push(log);
    return (line) => {
      log.write(line);
      presenter.line(role, line);
    };
  };
  const emulators = new SupervisedEmulators({
    ...io,
    environment,
    onLine: logged('emulators'),
    onFailed: (reason) => io.observe({ kind: 'up.emulators-failed', reason }),
  });
  const startedWorker = collectionWorkerProgram(environment, directory, logged('collection-workers'));
  const workers = hostedWorkers(environment, logged('function-workers'), startedWorker, { leash, clock, sinks });
  const link = new ScaleLinkPort(config.linkPort, randomness);
  const supervise = (
    role: string,
    program: string,
    environmentAfter: (previous: ProcessAnnouncement | undefined) => NodeJS.ProcessEnv,
    onLaunch?: (child: ChildProcess) => () => void,
  ): SupervisedProcess =>
    new SupervisedProcess({
      role,
      module: fileURLToPath(new URL(program, import.meta.url)),
      // This process formats their lines.
      environment: (previous) => ({ ...environmentAfter(previous), DROVER_LOG_FORMAT: 'json' }),
      onLine: logged(role),
      onLaunch,
      onMessage: (message) => {
        if (isEmulatorsDemand(message)) emulators.demand(message.endpoints);
      },
      failed: (reason, cause) => roleFailed({ role, reason }, cause),
      relay,
      ...io,
    });
  const environmentOfPlatform = config.collectionWorkers === 0 ? wholePlatformEnvironment : platformEnvironment;
  const platform = supervise(
    'platform',
    'platform-main.js',
    (previous) => ({
      ...environmentOfPlatform(environment, directory, link.port, previous),
      DROVER_COLLECTION_WORKERS: String(config.collectionWorkers),
    }),
    (child) => serveInstances(workers, ipcInstanceChannel(child)),
  );
  const runtime = supervise('runtime-1', 'runtime-main.js', (previous) =>
    runtimeEnvironment(environment, directory, link.port, previous),
  );
  const collectionWorkers = Array.from({ length: config.collectionWorkers }, (_, index) =>
    supervise(`collection-worker-${index + 1}`, 'collection-worker-main.js', (previous) =>
      collectionWorkerEnvironment(environment, directory, index + 1, previous),
    ),
  );
  const [firstWorker, ...others] = collectionWorkers;
  const laterWorkers = new LaterCollectionWorkers(others, io);
  const report = {
    config,
    directory,
    database,
    credentials,
    platform,
    runtime,
    collectionWorkers,
    laterWorkers,
    emulators,
  };
  return {
    life: inOrder('drover up', [
      directory,
      checkPublicPort(config),
      step('leash', { down: () => leash.stop() }),
      link,
      removeStaleUrls(directory),
      clearSockets(directory),
      createKeys(directory, randomness),
      together('logs', logs),
      step('hosted workers', { down: () => workers.stop() }), // after the runtime, which drains function workers
      emulators, // stopped after the runtime, whose listeners settle their messages
      // A runtime uses the database only when a trigger stores its state, and the platform polls for the runtime's URL: neither
      // waits for the other.
      together('roles', [
        inOrder('platform', [
          database,
          writeDatabaseUrl(directory, database),
          credentials,
          // A collection worker waits for the tables that the platform creates and registers once the platform listens, and the
          // platform reads its URL when a request needs it.
          together('database users', [
            inOrder('platform', [
              platform,
              writeControlPlaneUrl(directory, platform),
              ...(firstWorker ? [] : [writeCollectionWorkerUrl(directory, platform)]),
            ]),
            ...(firstWorker
              ? [inOrder('collection worker', [firstWorker, writeCollectionWorkerUrl(directory, firstWorker)])]
              : []),
            laterWorkers,
          ]),
        ]),
        inOrder('runtime', [
          runtime,
          writeRuntimeUrl(directory, runtime),
          // Drained before the runtime, whose ended workers a running platform would replace.
          step('end of the platform', {
            drain: (deadline) =>
              Promise.race([platform.exited, sleep(clock, platformFirstMs, deadline).catch(() => undefined)]),
          }),
        ]),
      ]),
      // Drained first: a platform that runs on beside the runtime would warn of the workers that end with it.
      step('ends of workers', { drain: async () => workers.stopReporting() }),
      reportReady(report, (ready, keys) => presenter.ready(ready, keys)),
    ]),
  };
}
