import { createSocket, type Socket } from 'node:dgram';
import { once } from 'node:events';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Leash } from '@drover/service-kit';
import { Child } from '@drover/testkit';
import type { TriggerKind } from './trigger-kinds.js';

const program = path.resolve(
  path.dirname(fileURLToPath(import.meta.resolve('@drover/runtime'))),
  '../bin/drover-runtime.js',
);
/** The application lies beside the sources: it is not part of what is compiled. */
const application = fileURLToPath(new URL('../../triggers/app', import.meta.url));

/** What the function tells. */
export type Report =
  | { readonly kind: 'seen'; readonly firstMs: number; readonly lastMs: number; readonly count: number }
  | { readonly kind: 'entered'; readonly atMs: number; readonly sentMs?: number };

/** Receives the reports of functions, one datagram each. */
export class Reports {
  readonly #socket: Socket = createSocket('udp4');

  static async open(): Promise<Reports> {
    const reports = new Reports();
    reports.#socket.bind(0, '127.0.0.1');
    await once(reports.#socket, 'listening');
    return reports;
  }

  get port(): number {
    return this.#socket.address().port;
  }

  /** The next report. */
  async next(): Promise<Report> {
    const [bytes] = (await once(this.#socket, 'message', { signal: AbortSignal.timeout(120_000) })) as [Buffer];
    return JSON.parse(bytes.toString()) as Report;
  }

  close(): void {
    this.#socket.close();
  }
}

interface BenchRuntimeOptions {
  readonly kind: TriggerKind;
  readonly entity: string;
  readonly count: number;
  readonly storage: string;
  readonly namespace: string;
  readonly reports: Reports;
  readonly leash: Leash;
}

/** A real runtime with a real worker and one function that does nothing. */
export class BenchRuntime {
  readonly #child: Child;
  readonly #letGo: () => void;

  private constructor(child: Child, letGo: () => void) {
    this.#child = child;
    this.#letGo = letGo;
  }

  /** Resolves when it serves. It may have messages by then. */
  static async start({
    kind,
    entity,
    count,
    storage,
    namespace,
    reports,
    leash,
  }: BenchRuntimeOptions): Promise<BenchRuntime> {
    const args = [program, '--functions-app', application, '--port', '0'];
    const env = {
      ...process.env,
      DROVER_EMULATORS: 'off', // the benchmark has its own
      AzureWebJobsStorage: storage,
      BenchNamespace: namespace,
      BENCH_FUNCTION: kind,
      BENCH_ENTITY: entity,
      BENCH_COUNT: `${count}`,
      BENCH_REPORT_PORT: `${reports.port}`,
    };
    const child = new Child(process.execPath, args, { env });
    const runtime = new BenchRuntime(child, leash.hold(child.pid, { signal: 'SIGTERM', graceMs: 10_000 }));
    await child.line(/"msg":"runtime is ready"/, 60_000);
    return runtime;
  }

  get pid(): number {
    return this.#child.pid;
  }

  get url(): string {
    const [, url = ''] = /"url":"(http[^"]+)"/.exec(this.#child.output) ?? [];
    return url;
  }

  async stop(): Promise<void> {
    this.#child.kill('SIGTERM');
    await this.#child.exited;
    this.#letGo();
  }
}
