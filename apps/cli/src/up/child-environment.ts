import { createHash } from 'node:crypto';
import { hostname } from 'node:os';
import type { Environment, ProcessAnnouncement } from '@drover/service-kit';
import type { DataDirectory } from './data-directory.js';
import { withNodeWorker } from './node-worker-command.js';

/** Environment of the platform process. Secrets are passed as names of files that only this user can read. */
export function platformEnvironment(
  environment: Environment,
  directory: DataDirectory,
  scaleLinkPort: number,
  previous: ProcessAnnouncement | undefined,
): NodeJS.ProcessEnv {
  const { DATABASE_URL: _secret, CONTROL_PLANE_URL: _elsewhere, ...rest } = environment;
  const port = portOf(previous?.['public']);
  return {
    ...rest,
    DATABASE_URL_FILE: directory.databaseUrl,
    DROVER_BOOTSTRAP_KEY_FILE: directory.credentials,
    DROVER_SCALE_LINK_PORT: String(scaleLinkPort),
    ...keyFile(environment, 'DROVER_SCALE_LINK_TOKEN', directory.scaleLinkToken),
    DROVER_RUNTIME_URL_FILE: directory.runtimeUrl,
    DROVER_COLLECTION_WORKER_URL_FILE: directory.collectionWorkerUrl,
    DROVER_PAYLOAD_DIR: environment['DROVER_PAYLOAD_DIR'] || directory.payloads,
    ...keyFile(environment, 'DROVER_FUNCTIONS_MASTER_KEY', directory.functionsMasterKey),
    ...keyFile(environment, 'DROVER_SECRETS_KEY', directory.secretsKey),
    ...keyFile(environment, 'DROVER_WORKER_JOIN_KEY', directory.workerJoinKey),
    // For the collection workers that the scale controller starts and drains.
    CONTROL_PLANE_URL_FILE: directory.controlPlaneUrl,
    WORKER_CAPACITY: environment['WORKER_CAPACITY'] || allCollections,
    ...workerSockets(environment, directory),
    ...(port && { DROVER_PORT: port }),
  };
}

/**
 * Environment of the runtime process. Its ports are the configured ones, else any free ones, so that several platforms can run
 * side by side. A restarted runtime listens on the ports of its predecessor, where clients expect it.
 */
export function runtimeEnvironment(
  environment: Environment,
  directory: DataDirectory,
  scaleLinkPort: number,
  previous: ProcessAnnouncement | undefined,
): NodeJS.ProcessEnv {
  const {
    DROVER_FUNCTIONS_APPS: _deployed,
    DATABASE_URL: _secret,
    DATABASE_URL_FILE: _file,
    DROVER_SECRETS_KEY: _ofThePlatform,
    ...rest
  } = withNodeWorker(environment);
  const rpcPort = portOf(previous?.['functionRpc']);
  // Workers of a runtime that was killed look for it at its port, and the scale controller knows it by its name.
  const loopbackPort = portOf(previous?.['functionRpcLoopback']);
  return {
    ...rest,
    DROVER_RUNTIME_ID: environment['DROVER_RUNTIME_ID'] || 'runtime-1',
    ...(loopbackPort && { DROVER_RPC_LOOPBACK_PORT: loopbackPort }),
    DROVER_RUNTIME_PORT: portOf(previous?.['functions']) ?? (environment['DROVER_RUNTIME_PORT'] || '0'),
    ...keyFile(environment, 'DROVER_FUNCTIONS_MASTER_KEY', directory.functionsMasterKey),
    DROVER_SCALE_LINK_URL: `http://127.0.0.1:${scaleLinkPort}`,
    ...keyFile(environment, 'DROVER_SCALE_LINK_TOKEN', directory.scaleLinkToken),
    DROVER_CERTIFICATES_DIR: environment['DROVER_CERTIFICATES_DIR'] ?? directory.certificates,
    // Not DATABASE_URL_FILE: the file appears when the database is ready, which may be later than the start of the runtime.
    DROVER_TRIGGER_DATABASE_URL_FILE: directory.databaseUrl,
    DROVER_FUNCTIONS_ENVIRONMENT: environment['DROVER_FUNCTIONS_ENVIRONMENT'] ?? 'Development',
    ...(rpcPort && { DROVER_RPC_PORT: rpcPort }),
  };
}

/**
 * The id of the nth collection worker, from 1: the same after each start. Platforms that share a database must not share ids.
 */
function collectionWorkerId(environment: Environment, directory: DataDirectory, number: number): string {
  const { WORKER_ID: configured, DATABASE_URL: url, DATABASE_URL_FILE: urlFile } = environment;
  if (configured) return `${configured}-${number}`;
  if (!url && !urlFile) return `collection-worker-${number}`;
  const platform = createHash('sha256').update(`${hostname()}\n${directory.path}`).digest('hex').slice(0, 8);
  return `collection-worker-${number}-${platform}`;
}

/**
 * Environment of the nth collection worker. A restarted one listens on the port of its predecessor, where the gateway expects it. Only
 * the first one takes the configured port.
 */
export function collectionWorkerEnvironment(
  environment: Environment,
  directory: DataDirectory,
  number: number,
  previous: ProcessAnnouncement | undefined,
): NodeJS.ProcessEnv {
  const { DATABASE_URL: _secret, CONTROL_PLANE_URL: _elsewhere, WORKER_URL: _ofOne, ...rest } = environment;
  const { DROVER_COLLECTION_WORKER_PORT: configuredPort } = environment;
  return {
    ...rest,
    DATABASE_URL_FILE: directory.databaseUrl,
    CONTROL_PLANE_URL_FILE: directory.controlPlaneUrl,
    WORKER_ID: collectionWorkerId(environment, directory, number),
    WORKER_CAPACITY: environment['WORKER_CAPACITY'] || allCollections,
    DROVER_COLLECTION_WORKER_PORT: portOf(previous?.['records']) ?? ((number === 1 && configuredPort) || '0'),
    ...keyFile(environment, 'DROVER_SECRETS_KEY', directory.secretsKey),
    ...keyFile(environment, 'DROVER_WORKER_JOIN_KEY', directory.workerJoinKey),
    ...workerSockets(environment, directory),
  };
}

/** Environment of a platform process that serves collections itself. */
export function wholePlatformEnvironment(
  environment: Environment,
  directory: DataDirectory,
  scaleLinkPort: number,
  previous: ProcessAnnouncement | undefined,
): NodeJS.ProcessEnv {
  return {
    ...collectionWorkerEnvironment(environment, directory, 1, previous),
    ...platformEnvironment(environment, directory, scaleLinkPort, previous),
    DROVER_COLLECTION_WORKERS: '0',
  };
}

/** On one machine there is no other worker that could take what is above the capacity. */
const allCollections = '100000';

/** Where collection workers and gateway meet on this machine. */
function workerSockets({ DROVER_WORKER_SOCKET_DIR: configured }: Environment, { sockets }: DataDirectory) {
  const directory = configured || sockets;
  return directory === undefined ? {} : { DROVER_WORKER_SOCKET_DIR: directory };
}

/** Names the key file of the data directory, unless the user configured a key. */
function keyFile(environment: Environment, name: string, file: string): NodeJS.ProcessEnv {
  return environment[name] || environment[`${name}_FILE`] ? {} : { [`${name}_FILE`]: file };
}

function portOf(url: string | undefined): string | undefined {
  return url === undefined ? undefined : new URL(url).port;
}
