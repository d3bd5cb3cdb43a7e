import { composeControlPlane, controlPlaneProcess, type ControlPlaneConfig } from '@drover/control-plane';
import { FunctionProxy, parseGatewayConfig, type GatewayConfig } from '@drover/gateway';
import { inOrder, runProcess, type Composition, type ProcessIo } from '@drover/service-kit';

// On one machine, gateway and control plane share a process: a call to the API takes no extra hop.
function composePlatform(config: ControlPlaneConfig & GatewayConfig, io: ProcessIo): Composition {
  const proxy = new FunctionProxy({ ...config, clock: io.clock, randomness: io.randomness });
  const controlPlane = composeControlPlane(config, io, proxy);
  return { ...controlPlane, life: inOrder('platform', [proxy, controlPlane.life]) };
}

await runProcess({
  name: 'platform',
  parse: (environment) => ({ ...controlPlaneProcess.parse(environment), ...parseGatewayConfig(environment) }),
  compose: composePlatform,
});
