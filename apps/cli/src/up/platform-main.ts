import { composeControlPlane, controlPlaneProcess, type ControlPlaneConfig } from '@drover/control-plane';
import { FunctionProxy, parseGatewayConfig, type GatewayConfig } from '@drover/gateway';
import { inOrder, runProcess, type Composition, type ProcessIo } from '@drover/service-kit';

// On one machine gateway, control plane and scale controller share this process; so far there are the first two.
function composePlatform(config: ControlPlaneConfig & GatewayConfig, io: ProcessIo): Composition {
  const proxy = new FunctionProxy(config);
  const controlPlane = composeControlPlane(config, io, { front: proxy.take });
  return { ...controlPlane, life: inOrder('platform', [proxy, controlPlane.life]) };
}

await runProcess({
  name: 'platform',
  parse: (environment) => ({ ...controlPlaneProcess.parse(environment), ...parseGatewayConfig(environment) }),
  compose: composePlatform,
});
