import type { Generator } from '../functions-api/generator.js';
import type { ClosedLoad, ClosedLoadResult } from '../functions-api/load/closed-loop.js';
import { cpuMsOf } from '../harness/process-facts.js';
import { lines, type Line } from './lines.js';
import type { Server } from './servers.js';

export const crowd = 32;

/** One line of one server under one load. */
export interface Cell {
  readonly line: Line;
  readonly server: Server;
  readonly inFlight: number;
}

export interface CellSample extends ClosedLoadResult {
  /** CPU time of the server, in milliseconds; NaN where the system does not report it. */
  readonly cpuMs: number;
  /** CPU time of the processes behind it. */
  readonly behindCpuMs: number;
}

/** All lines with a crowd; one at a time where waiting for others would show. */
export function cellsOf(servers: readonly Server[], records: number): Cell[] {
  return lines(records).flatMap((line) => {
    const inFlights = ['get by id', 'create'].includes(line.name) ? [crowd, 1] : [crowd];
    return inFlights.flatMap((inFlight) =>
      servers
        .filter(({ kind }) => kind !== 'bareProxy' || inFlight === 1) // only compared by what it adds
        .map((server): Cell => ({ line, server, inFlight })),
    );
  });
}

/** Loads cells; numbers that requests are stamped with go on from load to load, because those of new orders are unique. */
export class CellLoads {
  readonly #generator: Generator;
  #nextNumber = 0;

  constructor(generator: Generator) {
    this.#generator = generator;
  }

  async load({ line, server, inFlight }: Cell, until: ClosedLoad['until']): Promise<CellSample> {
    const { kind } = server;
    const { expectedStatus, ...request } =
      line.requests[kind === 'gateway' || kind === 'bareProxy' ? 'collection' : kind];
    const behind = server.behind?.() ?? [];
    const before = cpuMsOf(server.pid) ?? Number.NaN;
    const behindBefore = totalCpuMs(behind);
    const result = await this.#generator.closed({
      port: server.port,
      request: { ...request, headers: server.headers },
      connections: inFlight,
      until,
      expectedStatus,
      firstNumber: this.#nextNumber,
    });
    const mostNumbers = 20;
    this.#nextNumber += (result.calls + inFlight) * mostNumbers;
    const cpuMs = (cpuMsOf(server.pid) ?? Number.NaN) - before;
    return { ...result, cpuMs, behindCpuMs: totalCpuMs(behind) - behindBefore };
  }
}

const totalCpuMs = (pids: readonly number[]): number =>
  pids.reduce((sum, pid) => sum + (cpuMsOf(pid) ?? Number.NaN), 0);
