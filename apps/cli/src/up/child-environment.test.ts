import { describe, expect, it } from 'vitest';
import {
  collectionWorkerEnvironment,
  platformEnvironment,
  runtimeEnvironment,
  wholePlatformEnvironment,
} from './child-environment.js';
import { DataDirectory } from './data-directory.js';

const directory = new DataDirectory('/data');

describe('runtimeEnvironment', () => {
  it('takes any free ports, so that several platforms run side by side', () => {
    const environment = runtimeEnvironment({}, directory, 7_000, undefined);
    expect(environment).toMatchObject({ DROVER_RUNTIME_PORT: '0', DROVER_CERTIFICATES_DIR: '/data/certificates' });
    expect(environment).not.toHaveProperty('DROVER_RPC_PORT');
  });

  it('honours configured ports', () => {
    const configured = { DROVER_RUNTIME_PORT: '7071', DROVER_RPC_PORT: '50051' };
    expect(runtimeEnvironment(configured, directory, 7_000, undefined)).toMatchObject(configured);
  });

  it('keeps the ports and the name of the process before: its workers and the scale controller look for it there', () => {
    const previous = {
      functions: 'http://127.0.0.1:4001',
      functionRpc: 'https://127.0.0.1:4002',
      functionRpcLoopback: 'http://127.0.0.1:4003',
    };
    const environment = runtimeEnvironment({ DROVER_RUNTIME_PORT: '0' }, directory, 7_000, previous);
    expect(environment).toMatchObject({
      DROVER_RUNTIME_PORT: '4001',
      DROVER_RPC_PORT: '4002',
      DROVER_RPC_LOOPBACK_PORT: '4003',
    });
    const first = runtimeEnvironment({}, directory, 7_000, undefined);
    expect(first['DROVER_RUNTIME_ID']).toBe(environment['DROVER_RUNTIME_ID']);
  });

  it('names the key file of the data directory, unless a key is configured', () => {
    expect(runtimeEnvironment({}, directory, 7_000, undefined)['DROVER_FUNCTIONS_MASTER_KEY_FILE']).toBe(
      directory.functionsMasterKey,
    );
    const own = runtimeEnvironment({ DROVER_FUNCTIONS_MASTER_KEY: 'mine' }, directory, 7_000, undefined);
    expect(own).not.toHaveProperty('DROVER_FUNCTIONS_MASTER_KEY_FILE');
  });

  it('makes this a development environment for the apps, unless another is configured', () => {
    const name = 'DROVER_FUNCTIONS_ENVIRONMENT';
    expect(runtimeEnvironment({}, directory, 7_000, undefined)).toHaveProperty(name, 'Development');
    expect(runtimeEnvironment({ [name]: 'Staging' }, directory, 7_000, undefined)).toHaveProperty(name, 'Staging');
  });

  it('names the file in which the URL of the database will be, for the state of triggers', () => {
    const environment = runtimeEnvironment({ DATABASE_URL_FILE: '/elsewhere' }, directory, 7_000, undefined);
    expect(environment['DROVER_TRIGGER_DATABASE_URL_FILE']).toBe(directory.databaseUrl);
    expect(environment).not.toHaveProperty('DATABASE_URL_FILE');
  });

  it('hides the database and the secrets key, which are of the platform', () => {
    const environment = { DATABASE_URL: 'postgres://secret', DROVER_SECRETS_KEY: 'secret' };
    expect(Object.values(runtimeEnvironment(environment, directory, 7_000, undefined)).join(' ')).not.toContain(
      'secret',
    );
  });
});

describe('platformEnvironment', () => {
  it('keeps the public port of the process before', () => {
    const previous = { public: 'http://127.0.0.1:4000' };
    expect(platformEnvironment({ DROVER_PORT: '0' }, directory, 7_000, previous)['DROVER_PORT']).toBe('4000');
    expect(platformEnvironment({ DROVER_PORT: '7070' }, directory, 7_000, undefined)['DROVER_PORT']).toBe('7070');
  });

  it('has what a collection worker needs if the platform process serves collections itself, and keeps both ports', () => {
    const previous = { public: 'http://127.0.0.1:4000', records: 'http://127.0.0.1:4004' };
    expect(wholePlatformEnvironment({ DROVER_PORT: '0' }, directory, 7_000, previous)).toMatchObject({
      DROVER_PORT: '4000',
      DROVER_COLLECTION_WORKER_PORT: '4004',
      DROVER_COLLECTION_WORKERS: '0',
      WORKER_ID: 'collection-worker-1',
      DROVER_BOOTSTRAP_KEY_FILE: directory.credentials,
    });
  });

  it('enables no job runner by itself: programs of callers run only where the operator asked for it', () => {
    expect(platformEnvironment({}, directory, 7_000, undefined)).not.toHaveProperty('DROVER_JOB_RUNNER');
    const asked = platformEnvironment({ DROVER_JOB_RUNNER: 'process' }, directory, 7_000, undefined);
    expect(asked).toHaveProperty('DROVER_JOB_RUNNER', 'process');
  });

  it('has what the scale controller needs to start and drain collection workers, as those workers have it', () => {
    const configured = { CONTROL_PLANE_URL: 'http://elsewhere' };
    const platform = platformEnvironment(configured, directory, 7_000, undefined);
    const { CONTROL_PLANE_URL_FILE, WORKER_CAPACITY } = collectionWorkerEnvironment(
      configured,
      directory,
      1,
      undefined,
    );
    expect(platform).toMatchObject({ CONTROL_PLANE_URL_FILE, WORKER_CAPACITY });
    expect(platform).not.toHaveProperty('CONTROL_PLANE_URL');
  });
});

describe('collectionWorkerEnvironment', () => {
  it('takes any free port at first, and the same port again after a restart', () => {
    const first = collectionWorkerEnvironment({}, directory, 1, undefined);
    expect(first).toMatchObject({ DROVER_COLLECTION_WORKER_PORT: '0', DATABASE_URL_FILE: '/data/database-url' });
    const next = collectionWorkerEnvironment({}, directory, 1, { records: 'http://127.0.0.1:4004' });
    expect(next['DROVER_COLLECTION_WORKER_PORT']).toBe('4004');
  });

  it('meets the gateway in the data directory, unless its path is too long or another directory is configured', () => {
    const socketsOf = (environment: Record<string, string>, at: DataDirectory): (string | undefined)[] =>
      [
        collectionWorkerEnvironment(environment, at, 1, undefined),
        platformEnvironment(environment, at, 7_000, undefined),
      ].map(({ DROVER_WORKER_SOCKET_DIR: sockets }) => sockets);
    expect(socketsOf({}, directory)).toEqual(['/data/sockets', '/data/sockets']);
    expect(socketsOf({ DROVER_WORKER_SOCKET_DIR: '/own' }, directory)).toEqual(['/own', '/own']);
    expect(socketsOf({}, new DataDirectory(`/${'long'.repeat(25)}`))).toEqual([undefined, undefined]);
  });

  it('has the database by its file, and the key that encrypts fields', () => {
    const environment = collectionWorkerEnvironment({ DATABASE_URL: 'postgres://secret' }, directory, 1, undefined);
    expect(environment).not.toHaveProperty('DATABASE_URL');
    expect(environment['DROVER_SECRETS_KEY_FILE']).toBe(directory.secretsKey);
  });

  it('has a name that stays, the key to register with, and the file that will hold the address of the control plane', () => {
    const configured = { CONTROL_PLANE_URL: 'http://elsewhere', DROVER_COLLECTION_WORKER_PORT: '7073' };
    const second = collectionWorkerEnvironment(configured, directory, 2, undefined);
    expect(second).toMatchObject({
      WORKER_ID: 'collection-worker-2',
      CONTROL_PLANE_URL_FILE: '/data/control-plane-url',
      DROVER_WORKER_JOIN_KEY_FILE: '/data/worker-join-key',
      DROVER_COLLECTION_WORKER_PORT: '0',
    });
    expect(second).not.toHaveProperty('CONTROL_PLANE_URL');
    const shared = collectionWorkerEnvironment({ DATABASE_URL: 'postgres://x' }, directory, 1, undefined);
    expect(shared['WORKER_ID']).toMatch(/^collection-worker-1-[0-9a-f]{8}$/);
    const first = collectionWorkerEnvironment(configured, directory, 1, undefined);
    expect(first['DROVER_COLLECTION_WORKER_PORT']).toBe('7073');
    expect(platformEnvironment({}, directory, 7_000, undefined)).toHaveProperty(
      'DROVER_WORKER_JOIN_KEY_FILE',
      second['DROVER_WORKER_JOIN_KEY_FILE'],
    );
  });
});
