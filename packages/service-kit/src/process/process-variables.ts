import type { Configuration } from '../configuration/parse-configuration.js';
import { milliseconds, oneOf, optionalUrl } from '../configuration/variables.js';

/** What every process can be told, whatever its role. */
export const processVariables = {
  logLevel: oneOf('DROVER_LOG_LEVEL', ['debug', 'info', 'warn', 'error', 'silent'], {
    default: 'info',
    about: 'The least important log line that is still written.',
  }),
  drainTimeoutMs: milliseconds('DROVER_DRAIN_TIMEOUT_MS', {
    default: 30_000,
    about: 'How long a stopping process may finish what it has begun.',
  }),
  drainDelayMs: milliseconds('DROVER_DRAIN_DELAY_MS', {
    default: 0,
    about:
      'How long a stopping process still takes work after `/readyz` turned red, so that routers notice. In a cluster: a probe period or two.',
  }),
  tracingEndpoint: optionalUrl('OTEL_EXPORTER_OTLP_ENDPOINT', {
    about: 'An OpenTelemetry collector (OTLP over HTTP) that receives spans. Unset: no spans.',
  }),
};

export type ProcessConfiguration = Configuration<typeof processVariables>;
