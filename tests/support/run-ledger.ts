import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { setTimeout as pause } from 'node:timers/promises';

/** One attempt, as the endpoint saw it. */
export interface Run {
  readonly executionId: string;
  readonly functionName: string;
  readonly attempt: number;
  readonly startedMs: number;
  endedMs?: number;
  /** `cut`: the caller disconnected before the answer. */
  how?: 'answered' | 'cut';
}

/** The input of a call: what the endpoint is to do. */
export interface Work {
  readonly n?: number;
  readonly workMs?: number;
}

/** The time of an injected fault. Requests of a killed process may still arrive shortly after `fromMs`. */
export interface Fault {
  readonly fromMs: number;
  readonly toMs: number;
}

export type Worker = (run: Run, work: Work, gone: AbortSignal) => unknown;

/**
 * An endpoint for functions of the mode POOL that records what runs when. A run ends with its answer, or when its connection
 * is closed. What must never happen is in `violations`.
 */
export class RunLedger {
  readonly runs = new Map<string, Run[]>();
  readonly violations: string[] = [];
  /** Ids of executions that arrived with a key, by function and key. */
  readonly idsOfKeys = new Map<string, Set<string>>();
  readonly #inOrder: Run[] = [];
  readonly #atOnce = new Map<string, number>();
  readonly #mostAtOnce = new Map<string, number>();
  readonly #server: Server;
  /** What each run does. Default: waits `workMs`. */
  work: Worker = takeItsTime;

  private constructor() {
    this.#server = createServer((request, response) => void this.#take(request, response));
  }

  static async open(): Promise<RunLedger> {
    const ledger = new RunLedger();
    await new Promise<void>((resolve) => ledger.#server.listen(0, '127.0.0.1', resolve));
    return ledger;
  }

  /** The endpoint of one function. */
  url(functionName: string): string {
    const { port } = this.#server.address() as AddressInfo; // it listens on TCP
    return `http://127.0.0.1:${port}/${functionName}`;
  }

  /** All runs, in the order of their beginning. */
  get all(): readonly Run[] {
    return this.#inOrder;
  }

  /** The first run of a function that began after that moment; fails when there is none. */
  firstSince(ms: number, functionName: string): Run {
    const from = this.#inOrder.findLastIndex(({ startedMs }) => startedMs <= ms) + 1;
    const run = this.#inOrder.slice(from).find((each) => each.functionName === functionName);
    if (!run) throw new Error(`${functionName} has not run since`);
    return run;
  }

  mostAtOnce(functionName: string): number {
    return this.#mostAtOnce.get(functionName) ?? 0;
  }

  /** Repeated runs of an execution without a fault between them and the run before. */
  unexplained(faults: readonly Fault[]): string[] {
    return [...this.runs.values()].flatMap((runs) =>
      runs.slice(1).flatMap((run, index) => {
        const since = runs[index]?.startedMs ?? 0;
        if (faults.some(({ fromMs, toMs }) => toMs >= since && fromMs <= run.startedMs)) return [];
        return [`${run.functionName} ${run.executionId} ran as attempt ${run.attempt} without a fault before it`];
      }),
    );
  }

  get repeats(): number {
    return this.#inOrder.length - this.runs.size;
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  async #take(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const run = this.#begin(request);
    const gone = new AbortController();
    response.once('close', () => {
      this.#end(run, 'cut');
      gone.abort();
    });
    try {
      const { input } = JSON.parse(await text(request)) as { input: Work };
      const output = await this.work(run, input, gone.signal);
      // Recorded before it is sent: the caller may begin the next run before this process learns that the answer arrived.
      this.#end(run, 'answered');
      response.setHeader('content-type', 'application/json');
      response.end(JSON.stringify(output));
    } catch (error) {
      if (!gone.signal.aborted) this.violations.push(`the endpoint itself failed: ${String(error)}`);
      response.destroy();
    }
  }

  #begin({ headers, url = '' }: IncomingMessage): Run {
    const executionId = String(headers['x-execution-id']);
    const functionName = url.slice(1);
    const run: Run = {
      executionId,
      functionName,
      attempt: Number(headers['x-dispatch-attempt']),
      startedMs: Date.now(),
    };
    const before = this.runs.get(executionId) ?? [];
    for (const other of before) {
      const pair = `${functionName} ${executionId}: attempt ${run.attempt} began`;
      if (other.endedMs === undefined) this.violations.push(`${pair} while attempt ${other.attempt} ran`);
      if (other.attempt >= run.attempt) this.violations.push(`${pair} after attempt ${other.attempt}`);
    }
    this.runs.set(executionId, [...before, run]);
    this.#inOrder.push(run);
    const atOnce = (this.#atOnce.get(functionName) ?? 0) + 1;
    this.#atOnce.set(functionName, atOnce);
    this.#mostAtOnce.set(functionName, Math.max(this.mostAtOnce(functionName), atOnce));
    const key = headers['idempotency-key'];
    if (typeof key === 'string') {
      const scoped = `${functionName} ${key}`;
      this.idsOfKeys.set(scoped, (this.idsOfKeys.get(scoped) ?? new Set()).add(executionId));
    }
    return run;
  }

  #end(run: Run, how: 'answered' | 'cut'): void {
    if (run.endedMs !== undefined) return;
    run.endedMs = Date.now();
    run.how = how;
    this.#atOnce.set(run.functionName, (this.#atOnce.get(run.functionName) ?? 0) - 1);
  }
}

async function takeItsTime({ attempt }: Run, { n, workMs = 0 }: Work, gone: AbortSignal): Promise<unknown> {
  if (workMs > 0) await pause(workMs, undefined, { signal: gone });
  return { n, attempt };
}
