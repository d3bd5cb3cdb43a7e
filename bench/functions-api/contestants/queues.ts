import { execFile } from 'node:child_process';
import { mkdir } from 'node:fs/promises';
import path from 'node:path';
import { promisify } from 'node:util';
import { startScratchPostgres } from '@drover/database/testing';
import type { Leash } from '@drover/service-kit';
import { Child } from '@drover/testkit';
import { sequenceMark, type RequestSpec } from '../load/request.js';
import { startProgram, type Contestant } from './contestant.js';

/** A job that says when it ran. */
export const jobBody = (recorderPort: number): string => `{"input":{"recorder":${recorderPort},"n":"${sequenceMark}"}}`;

const requestOf = (recorderPort: number): RequestSpec => ({
  path: '/enqueue',
  headers: {},
  body: jobBody(recorderPort),
});

/** What every queue has to be given. */
export interface QueueOptions {
  readonly recorderPort: number;
  readonly directory: string;
  readonly leash: Leash;
}

export async function appendLog({ recorderPort, directory, leash }: QueueOptions): Promise<Contestant> {
  const file = path.join(directory, 'append.log');
  const program = await startProgram('append-log', { file }, leash);
  return { name: 'append log', request: requestOf(recorderPort), ...program };
}

/** `program` on a PostgreSQL of its own, of the kind and with the settings that ours has. */
export async function onPostgres(
  program: 'pg-boss' | 'bullmq',
  { recorderPort, leash }: QueueOptions,
): Promise<Contestant> {
  const { server, stop } = await startScratchPostgres();
  try {
    const started = await startProgram(program, { databaseUrl: server.url.reveal() }, leash);
    const close = async (): Promise<void> => {
      await started.close();
      await stop();
    };
    return { name: `${program} on PostgreSQL`, request: requestOf(recorderPort), ...started, close };
  } catch (error) {
    await stop();
    throw error;
  }
}

export async function hasRedis(): Promise<boolean> {
  return promisify(execFile)('redis-server', ['--version']).then(
    () => true,
    () => false,
  );
}

/** BullMQ on a Redis of its own, which syncs every write before it answers: the promise that all others make, too. */
export async function bullmqOnRedis({ recorderPort, directory, leash }: QueueOptions): Promise<Contestant> {
  const data = path.join(directory, 'redis');
  await mkdir(data);
  const redisSocket = path.join(data, 'socket');
  const redis = new Child('redis-server', redisArguments(data, redisSocket));
  leash.hold(redis.pid, { signal: 'SIGTERM', graceMs: 2_000 });
  try {
    await redis.line(/accept connections at/);
    const started = await startProgram('bullmq', { redisSocket }, leash);
    const close = async (): Promise<void> => {
      await started.close();
      await redis.end();
    };
    return { name: 'bullmq on Redis, fsync always', request: requestOf(recorderPort), ...started, close };
  } catch (error) {
    await redis.end();
    throw error;
  }
}

/** Port 0 means none: a socket in its own directory is one that nobody else can have. */
function redisArguments(directory: string, unixsocket: string): string[] {
  const settings = { port: '0', unixsocket, dir: directory, appendonly: 'yes', appendfsync: 'always', save: '' };
  return Object.entries(settings).flatMap(([name, value]) => [`--${name}`, value]);
}
