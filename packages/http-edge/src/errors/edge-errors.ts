import { defineError } from '@drover/contracts';

export const connectionsExhausted = defineError<{ connections: number; perClient: number }>('TOO_MANY_CONNECTIONS', {
  fault: 'caller',
  retryable: true,
  status: 503,
  message: (d) =>
    `This port has as many open connections as it accepts: ${d.connections} in all, ${d.perClient} from one client. Close or reuse connections, or ask the operator to raise the limit.`,
  help: 'One client, or all together, have as many connections open as the port accepts. Reuse connections. The operator can raise `DROVER_MAX_CONNECTIONS` and `DROVER_MAX_CONNECTIONS_PER_CLIENT` (runtime: `DROVER_RUNTIME_MAX_CONNECTIONS` and `DROVER_RUNTIME_MAX_CONNECTIONS_PER_CLIENT`). Health probes are still answered.',
});

export const edgeErrors = { connectionsExhausted };
