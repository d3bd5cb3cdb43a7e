import { randomUUID } from 'node:crypto';
import type { Health, Secret } from '@drover/service-kit';
import { metricsKeyRequired } from '../exchanges/errors.js';
import type { Exchange } from '../exchanges/exchange.js';
import { isSameKey } from '../routes/function-keys.js';
import { writeAnswer, writeError, writeJson } from '../exchanges/write-answer.js';

/** The values of the detailed health document. */
export interface RuntimeVitals {
  readonly isRpcListening: boolean;
  readonly totalWorkers: number;
  readonly readyWorkers: number;
  readonly activeJobHosts: number;
  /** From 0 to 1. */
  readonly memoryUtilization: number;
  readonly pendingInvocations: number;
  /** Applications of which no call is served now. */
  readonly unservedApplications: number;
  /** Trigger sources and output targets that cannot be reached. */
  readonly unavailableSources: number;
}

export interface HealthSource {
  readonly health: Pick<Health, 'report' | 'isReady'>;
  vitals(): RuntimeVitals;
  readonly metrics: MetricsSource;
}

/** The source of `/metrics` and its key. */
interface MetricsSource {
  /** Undefined: no key is required, as on a developer's machine. */
  readonly masterKey: Secret | undefined;
  readonly text: () => Promise<string>;
}

export interface HealthDocument {
  readonly status: 'healthy' | 'degraded' | 'unhealthy';
  readonly description: string;
  readonly data: {
    readonly grpc_server: 'healthy' | 'unhealthy';
    readonly total_workers: number;
    readonly ready_workers: number;
    readonly active_jobhosts: number;
    readonly memory_utilization: string;
    readonly pending_invocations: number;
  };
}

/** Fraction of the memory limit above which the runtime is degraded. */
const highMemory = 0.9;

export function healthDocument(vitals: RuntimeVitals): HealthDocument {
  const { isRpcListening, totalWorkers, readyWorkers, memoryUtilization } = vitals;
  const [status, description] = judge(vitals);
  return {
    status,
    description,
    data: {
      grpc_server: isRpcListening ? 'healthy' : 'unhealthy',
      total_workers: totalWorkers,
      ready_workers: readyWorkers,
      active_jobhosts: vitals.activeJobHosts,
      memory_utilization: `${Math.round(memoryUtilization * 100)}%`,
      pending_invocations: vitals.pendingInvocations,
    },
  };
}

function judge(vitals: RuntimeVitals): [HealthDocument['status'], string] {
  if (!vitals.isRpcListening) return ['unhealthy', 'gRPC server not listening'];
  if (vitals.readyWorkers === 0 && vitals.totalWorkers > 0) return ['degraded', 'No ready workers'];
  if (vitals.unservedApplications > 0) return ['degraded', 'Applications not served'];
  if (vitals.unavailableSources > 0) return ['degraded', 'Trigger sources unavailable'];
  if (vitals.memoryUtilization > highMemory) return ['degraded', 'High memory pressure'];
  return ['healthy', 'Runtime healthy'];
}

/** Serves health probes and metrics. Returns false for other paths. */
export function serveHealth(exchange: Exchange, path: string, source: HealthSource): boolean {
  switch (path) {
    case '/healthz':
      // Liveness only: readiness is /readyz.
      writeJson(exchange, 200, source.health.report());
      return true;
    case '/readyz':
      writeJson(exchange, source.health.isReady() ? 200 : 503, source.health.report());
      return true;
    case '/health': {
      const document = healthDocument(source.vitals());
      writeJson(exchange, document.status === 'unhealthy' ? 503 : 200, document);
      return true;
    }
    case '/metrics':
      void serveMetrics(exchange, source.metrics);
      return true;
    default:
      return false;
  }
}

const prometheusText = ['content-type', 'text/plain; version=0.0.4; charset=utf-8', 'cache-control', 'no-store'];

/** Requires the master key in x-functions-key, or as a bearer token, which metrics collectors can send. */
async function serveMetrics(exchange: Exchange, { masterKey, text }: MetricsSource): Promise<void> {
  const { 'x-functions-key': key, authorization = '' } = exchange.request.headers;
  const presented = typeof key === 'string' ? key : authorization.replace(/^Bearer /i, '');
  if (masterKey && !isSameKey(presented, masterKey.reveal()))
    return writeError(exchange, metricsKeyRequired({}), randomUUID());
  writeAnswer(exchange, { status: 200, headers: prometheusText, body: await text() });
}
