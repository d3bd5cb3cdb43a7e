import { createPostgresBackend, Queue, Worker } from 'bullmq';
import { serveRequests } from '../../harness/program.js';
import { noteExecution } from '../note-execution.js';
import type { DatabaseQueueRequest } from './pg-boss.js';
import { json, listenHttp, readBody, type JobBody, type Listening } from './serve-http.js';

export type BullmqRequest = DatabaseQueueRequest | { readonly redisSocket: string };
type Input = JobBody['input'];

const queueName = 'jobs';
/** Jobs of one worker at a time: three times as many made it no faster on Redis, a tenth of them made it slower. */
const concurrency = 100;
const jobOptions = { removeOnComplete: true, removeOnFail: true };
const run = async ({ data }: { readonly data: Input }): Promise<void> => noteExecution(data.recorder, Number(data.n));

/** One `add` a request, and a worker in the same process. */
serveRequests<BullmqRequest>(async (request): Promise<Listening> => {
  const queue = 'redisSocket' in request ? await onRedis(request.redisSocket) : await onPostgres(request.databaseUrl);
  return await listenHttp((incoming, response) => {
    readBody(incoming, (body) => {
      const { input } = JSON.parse(body.toString()) as JobBody; // our own generator's
      void queue.add('job', input, jobOptions).then(
        ({ id }) => {
          const text = JSON.stringify({ executionId: id, status: 'queued' });
          response.writeHead(202, { ...json, 'Content-Length': Buffer.byteLength(text) });
          response.end(text);
        },
        (error: unknown) => response.writeHead(500).end(String(error)),
      );
    });
  });
});

interface Adding {
  add(name: string, input: Input, options: typeof jobOptions): Promise<{ readonly id?: string | undefined }>;
}

async function onRedis(path: string): Promise<Adding> {
  const connection = { path, maxRetriesPerRequest: null };
  const queue = new Queue<Input, void, 'job'>(queueName, { connection });
  const worker = new Worker<Input, void, 'job'>(queueName, run, { connection, concurrency });
  await Promise.all([queue.waitUntilReady(), worker.waitUntilReady()]);
  return queue;
}

async function onPostgres(connectionString: string): Promise<Adding> {
  const connection = { connectionString, max: 10, migrate: true };
  const queue = new Queue(queueName, { connection }, createPostgresBackend);
  await queue.waitUntilReady();
  const worker = new Worker(queueName, run, { connection, concurrency }, createPostgresBackend);
  await worker.waitUntilReady();
  return queue;
}
