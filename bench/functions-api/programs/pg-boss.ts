import PgBoss from 'pg-boss';
import { serveRequests } from '../../harness/program.js';
import { noteExecution } from '../note-execution.js';
import { json, listenHttp, readBody, type JobBody } from './serve-http.js';

export interface DatabaseQueueRequest {
  readonly databaseUrl: string;
}

const queue = 'jobs';
/** More at a time makes it no faster; much fewer leave most of a burst to its polling, which is twice a second. */
const batchSize = 500;
const connections = 20;

/** One `send` a request, and a worker that takes many jobs at a time and is woken instead of left to its polling. */
serveRequests<DatabaseQueueRequest>(async ({ databaseUrl }) => {
  const boss = new PgBoss({ connectionString: databaseUrl, max: connections, schedule: false });
  boss.on('error', (error) => process.stderr.write(`${error.message}\n`));
  await boss.start();
  await boss.createQueue(queue);
  const worker = await boss.work<JobBody['input']>(
    queue,
    { batchSize, pollingIntervalSeconds: 0.5 },
    async (jobs): Promise<void> => {
      for (const { data } of jobs) noteExecution(data.recorder, Number(data.n));
    },
  );
  return await listenHttp((request, response) => {
    readBody(request, (body) => {
      const { input } = JSON.parse(body.toString()) as JobBody; // our own generator's
      void boss.send(queue, input).then(
        (executionId) => {
          const text = JSON.stringify({ executionId, status: 'queued' });
          response.writeHead(202, { ...json, 'Content-Length': Buffer.byteLength(text) });
          response.end(text);
          boss.notifyWorker(worker);
        },
        (error: unknown) => response.writeHead(500).end(String(error)),
      );
    });
  });
});
