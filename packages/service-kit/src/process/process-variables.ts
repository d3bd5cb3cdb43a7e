import type { Configuration } from '../configuration/parse-configuration.js';
import { milliseconds, oneOf, optionalUrl } from '../configuration/variables.js';

/** Variables of every process, whatever its role. */
export const processVariables = {
  logLevel: oneOf('DROVER_LOG_LEVEL', ['debug', 'info', 'warn', 'error', 'silent'], {
    default: 'info',
    about: 'Lowest level that is logged.',
  }),
  logFormat: oneOf('DROVER_LOG_FORMAT', ['auto', 'text', 'json'], {
    default: 'auto',
    about:
      'Format of the log. `auto`: text on a terminal, with colours unless `NO_COLOR` is set, and JSON where the output is piped.',
  }),
  drainTimeoutMs: milliseconds('DROVER_DRAIN_TIMEOUT_MS', {
    default: 30_000,
    about: 'Time that a stopping process has to finish the work in flight. After it, the process stops anyway.',
  }),
  drainDelayMs: milliseconds('DROVER_DRAIN_DELAY_MS', {
    default: 0,
    about:
      'Time between `/readyz` turning unready and the start of the drain, in which a stopping process still accepts work. Set it to one or two probe periods in a cluster, so that load balancers stop sending requests first.',
  }),
  tracingEndpoint: optionalUrl('OTEL_EXPORTER_OTLP_ENDPOINT', {
    about: 'URL of an OpenTelemetry collector (OTLP over HTTP) that receives spans. Unset: no spans.',
  }),
};

export type ProcessConfiguration = Configuration<typeof processVariables>;
