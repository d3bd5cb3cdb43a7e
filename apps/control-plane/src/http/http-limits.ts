import { edgeVariables, publicPortLimits, type PortLimits } from '@drover/http-edge';
import { integer, type Configuration } from '@drover/service-kit';

export const httpVariables = {
  ...edgeVariables,
  portConnections: integer('DROVER_MAX_CONNECTIONS', {
    min: 1,
    max: 1_000_000,
    default: publicPortLimits.connections,
    about: 'Open connections of the public port. Health probes are answered beyond that.',
  }),
  portConnectionsPerClient: integer('DROVER_MAX_CONNECTIONS_PER_CLIENT', {
    min: 1,
    max: 1_000_000,
    default: publicPortLimits.connectionsPerClient,
    about:
      'How many of them one client may have: one IPv4 address, or one IPv6 network of 64 bits. Raise it behind a proxy, whose connections all come from one address.',
  }),
};

/** Returns the limits of the public port as configured. */
export function configuredPortLimits(config: Configuration<typeof httpVariables>): PortLimits {
  return {
    ...publicPortLimits,
    writeMs: config.writeTimeoutMs,
    connections: config.portConnections,
    connectionsPerClient: config.portConnectionsPerClient,
  };
}
