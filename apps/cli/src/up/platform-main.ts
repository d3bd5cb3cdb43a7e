import { composeControlPlane, controlPlaneProcess, type ControlPlaneConfig } from '@drover/control-plane';
import { FunctionProxy, parseGatewayConfig, type GatewayConfig } from '@drover/gateway';
import { IpcConnectionChannel } from '@drover/http-edge';
import { inOrder, runProcess, type Composition, type ProcessIo } from '@drover/service-kit';

// On one machine, gateway and control plane share a process: a call to the API takes no extra hop.
function composePlatform(config: ControlPlaneConfig & GatewayConfig, io: ProcessIo): Composition {
  const { clock, randomness } = io;
  const connections = new IpcConnectionChannel(process);
  const proxy = new FunctionProxy({ ...config, connections, clock, randomness });
  const { serve, serveFastLane } = proxy;
  const controlPlane = composeControlPlane(config, io, { serve, serveFastLane, connections });
  return { ...controlPlane, life: inOrder('platform', [proxy, controlPlane.life]) };
}

await runProcess({
  name: 'platform',
  parse: (environment) => ({ ...controlPlaneProcess.parse(environment), ...parseGatewayConfig(environment) }),
  compose: composePlatform,
});
