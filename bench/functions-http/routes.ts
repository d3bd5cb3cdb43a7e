import path from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Leash } from '@drover/service-kit';
import { startProgram } from '../functions-api/contestants/contestant.js';
import { bareHttp, bareProxy, callBody } from '../functions-api/contestants/calls.js';
import { Platform } from '../functions-api/contestants/platform.js';
import type { Generator } from '../functions-api/generator.js';
import type { ClosedLoad, ClosedLoadResult } from '../functions-api/load/closed-loop.js';
import type { RequestSpec } from '../functions-api/load/request.js';
import { Opened } from '../functions-api/suite.js';
import { cpuMsOf } from '../harness/process-facts.js';

type RouteProcesses = Readonly<Record<string, () => readonly number[]>>;

/** One way to reach a function, and the processes that a request passes on it. */
export interface Route {
  readonly name: string;
  readonly port: number;
  readonly request: RequestSpec;
  /** By name; a role may have several, and they may change under load. */
  readonly processes: RouteProcesses;
}

/** One route under one load. */
export interface Cell {
  readonly name: string;
  readonly route: Route;
  readonly inFlight: number;
}

export interface RouteSample extends ClosedLoadResult {
  /** CPU time of each process of the route, in milliseconds; NaN where the system does not report it. */
  readonly cpuMs: Readonly<Record<string, number>>;
}

/** Names that figures and goals refer to. */
export const routeNames = {
  chain: 'node:http + undici + node:http',
  runtime: "the runtime's own port",
  publicPort: 'the public port',
  pool: ':invoke, POOL',
  app: ':invoke, APP',
} as const;

export const crowd = 64;
const inFlights = [1, crowd];
/** The application lies beside the sources: it is not part of what is compiled. */
const application = fileURLToPath(new URL('../../functions-http/app', import.meta.url));

export interface OpenedRoutes {
  readonly cells: readonly Cell[];
  readonly load: (cell: Cell, until: ClosedLoad['until']) => Promise<RouteSample>;
  readonly close: () => Promise<void>;
}

interface Surroundings {
  readonly directory: string;
  readonly leash: Leash;
  readonly generator: Generator;
}

/** Starts all processes and returns what is measured. The caller must call `close`. */
export async function openRoutes(around: Surroundings): Promise<OpenedRoutes> {
  const opened = new Opened();
  try {
    const cells = cellsOf(await startRoutes(around, opened));
    return {
      cells,
      load: (cell, until) => loadCell(cell, until, around.generator),
      close: () => opened.closeAll(),
    };
  } catch (error) {
    await opened.closeAll();
    throw error;
  }
}

function cellsOf(routes: readonly Route[]): Cell[] {
  return routes.flatMap((route) =>
    inFlights.map((inFlight): Cell => ({ name: `${route.name}, ${inFlight} in flight`, route, inFlight })),
  );
}

async function startRoutes({ directory, leash }: Surroundings, opened: Opened): Promise<Route[]> {
  const server = await opened.add(bareHttp(leash));
  const endpoint = await opened.add(startProgram('endpoint', {}, leash));
  const platform = await opened.add(Platform.start(path.join(directory, 'platform'), leash, application));
  const chain = await opened.add(bareProxy(server.port, leash));
  // As many at once as there are callers: otherwise most of them wait in the queue, and that is what is measured.
  const limits = { concurrency: 2 * crowd, queueSize: 1_000 };
  const endpointUrl = `http://127.0.0.1:${endpoint.port}/noop`;
  await platform.register({ name: 'pool-noop', executionMode: 'POOL', endpointUrl, ...limits });
  await platform.register({ name: 'app-noop', executionMode: 'APP', appFunction: 'noop', ...limits });
  const direct: RequestSpec = { path: '/api/noop', headers: {}, body: callBody };
  // The first call waits for the function worker: afterwards it is there to be found.
  const first = await fetch(`http://127.0.0.1:${platform.port}/api/noop`, { method: 'POST', body: callBody });
  if (first.status !== 200) throw new Error(`The function did not answer: ${first.status} ${await first.text()}`);
  const controlPlane = { platform: () => [platform.pid] };
  const inApplication = { runtime: () => [platform.runtimePid], worker: () => platform.functionWorkerPids };
  return [
    {
      name: routeNames.chain,
      port: chain.port,
      request: chain.request,
      processes: { proxy: () => [chain.pid], server: () => [server.pid] },
    },
    { name: routeNames.runtime, port: await platform.runtimePort(), request: direct, processes: inApplication },
    {
      name: routeNames.publicPort,
      port: platform.port,
      request: direct,
      processes: { ...controlPlane, ...inApplication },
    },
    {
      name: routeNames.pool,
      port: platform.port,
      request: platform.request('pool-noop', 'invoke', callBody),
      processes: { ...controlPlane, endpoint: () => [endpoint.pid] },
    },
    {
      name: routeNames.app,
      port: platform.port,
      request: platform.request('app-noop', 'invoke', callBody),
      processes: { ...controlPlane, ...inApplication },
    },
  ];
}

async function loadCell(
  { route, inFlight }: Cell,
  until: ClosedLoad['until'],
  generator: Generator,
): Promise<RouteSample> {
  const { port, request, processes } = route;
  const before = cpuOf(Object.values(processes).flatMap((pids) => pids()));
  const result = await generator.closed({
    port,
    request,
    connections: inFlight,
    until,
    expectedStatus: 200,
  });
  const spent = (pids: readonly number[]): number => {
    if (pids.length === 0) return Number.NaN;
    // A process that started meanwhile has spent all of its time on this load.
    return [...cpuOf(pids)].reduce((sum, [pid, cpuMs]) => sum + cpuMs - (before.get(pid) ?? 0), 0);
  };
  return {
    ...result,
    cpuMs: Object.fromEntries(Object.entries(processes).map(([name, pids]) => [name, spent(pids())])),
  };
}

/** CPU time of each process so far. */
function cpuOf(pids: readonly number[]): Map<number, number> {
  return new Map(pids.map((pid) => [pid, cpuMsOf(pid) ?? Number.NaN]));
}
