import { composeControlPlane, controlPlaneProcess, version, type ControlPlaneConfig } from '@drover/control-plane';
import { composeCollectionFront, FunctionProxy, parseGatewayConfig, type GatewayConfig } from '@drover/gateway';
import { IpcConnectionChannel } from '@drover/http-edge';
import { ipcInstanceChannel, LocalProcessProvider } from '@drover/instance-provider';
import {
  composeScaleController,
  parseScaleControllerConfig,
  type ScaleControllerConfig,
} from '@drover/scale-controller';
import { inOrder, runProcess, type Composition, type ProcessIo } from '@drover/service-kit';

interface PlatformConfig {
  readonly controlPlane: ControlPlaneConfig;
  readonly gateway: GatewayConfig;
  readonly scaleController: ScaleControllerConfig;
}

// On one machine, gateway, control plane and scale controller share a process: a call to the API takes no extra hop.
function composePlatform(config: PlatformConfig, io: ProcessIo): Composition {
  const { clock, randomness } = io;
  const connections = new IpcConnectionChannel(process);
  const functions = new FunctionProxy({ ...config.gateway, connections, clock, randomness });
  const provider = new LocalProcessProvider(ipcInstanceChannel(process));
  const scaleController = composeScaleController(config.scaleController, io, { provider, release: version });
  const controlPlane = composeControlPlane(config.controlPlane, io, {
    front: (shared) => {
      const onNames = (names: readonly string[]): void => connections.reserve(names);
      const { proxy, parts } = composeCollectionFront(config.gateway, {
        ...shared,
        functions,
        clock,
        randomness,
        onNames,
      });
      const { serve, serveFastLane } = proxy;
      return { serve, serveFastLane, connections, parts };
    },
    explainScaling: (address) => scaleController.reports.report(address),
  });
  return { ...controlPlane, life: inOrder('platform', [functions, scaleController.life, controlPlane.life]) };
}

await runProcess({
  name: 'platform',
  parse: (environment) => ({
    controlPlane: controlPlaneProcess.parse(environment),
    gateway: parseGatewayConfig(environment),
    scaleController: parseScaleControllerConfig(environment),
  }),
  compose: composePlatform,
});
