import { randomUUID } from 'node:crypto';
import { fdatasync, openSync, write } from 'node:fs';
import { serveRequests } from '../../harness/program.js';
import { noteExecution } from '../note-execution.js';
import { json, listenHttp, readBody, type JobBody } from './serve-http.js';

export interface AppendLogRequest {
  readonly file: string;
}

/**
 * Records on their way to the disk. What comes while a write is under way goes with the next one, all of it at once: the
 * disk sets the pace, and the busier it is, the more each of its turns carries.
 */
class AppendLog {
  readonly #file: number;
  #waiting: { readonly record: string; readonly durable: () => void }[] = [];
  #isWriting = false;

  constructor(file: string) {
    this.#file = openSync(file, 'a');
  }

  append(record: string, durable: () => void): void {
    this.#waiting.push({ record, durable });
    if (!this.#isWriting) this.#write();
  }

  #write(): void {
    const batch = this.#waiting;
    this.#waiting = [];
    this.#isWriting = batch.length > 0;
    if (!this.#isWriting) return;
    const bytes = Buffer.from(batch.map(({ record }) => record).join(''));
    write(this.#file, bytes, 0, bytes.length, null, (writeError, written) => {
      if (writeError || written !== bytes.length) throw writeError ?? new Error('the disk took only a part');
      fdatasync(this.#file, (syncError) => {
        if (syncError) throw syncError;
        for (const { durable } of batch) durable();
        this.#write();
      });
    });
  }
}

/** As little as a durable queue can be: two records a job in one file, and the jobs run in the process that took them. */
serveRequests<AppendLogRequest>(({ file }) => {
  const log = new AppendLog(file);
  const run = async (id: string, { input }: JobBody): Promise<void> => {
    noteExecution(input.recorder, Number(input.n));
    log.append(`${JSON.stringify({ id, status: 'success' })}\n`, () => undefined);
  };
  return listenHttp((request, response) => {
    readBody(request, (body) => {
      const job = JSON.parse(body.toString()) as JobBody; // our own generator's
      const executionId = randomUUID();
      log.append(`${JSON.stringify({ id: executionId, job })}\n`, () => {
        const text = JSON.stringify({ executionId, status: 'queued' });
        response.writeHead(202, { ...json, 'Content-Length': Buffer.byteLength(text) });
        response.end(text);
        setImmediate(() => void run(executionId, job));
      });
    });
  });
});
