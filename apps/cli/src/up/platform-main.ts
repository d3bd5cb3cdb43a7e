import { composeControlPlane, controlPlaneProcess, version, type ControlPlaneConfig } from '@drover/control-plane';
import { composeCollectionFront, FunctionProxy, parseGatewayConfig, type GatewayConfig } from '@drover/gateway';
import { corsPolicyOf, IpcConnectionChannel } from '@drover/http-edge';
import { ipcInstanceChannel, LocalProcessProvider } from '@drover/instance-provider';
import {
  composeScaleController,
  parseScaleControllerConfig,
  type ScaleControllerConfig,
} from '@drover/scale-controller';
import {
  createMetrics,
  inOrder,
  runProcess,
  type Composition,
  type Environment,
  type ProcessIo,
} from '@drover/service-kit';

interface PlatformConfig {
  readonly controlPlane: ControlPlaneConfig;
  readonly gateway: GatewayConfig;
  readonly scaleController: ScaleControllerConfig;
  /** The environment of the collection worker in this process; undefined if collections are served by other processes. */
  readonly collectionWorker: Environment | undefined;
}

// On one machine, gateway, control plane and scale controller share a process: a call to the API takes no extra hop. A small machine has
// the collection worker in it, too.
async function composePlatform(config: PlatformConfig, io: ProcessIo): Promise<Composition> {
  const { clock, randomness } = io;
  const connections = new IpcConnectionChannel(process, clock);
  const functions = new FunctionProxy({
    ...config.gateway,
    cors: corsPolicyOf(config.gateway),
    connections,
    clock,
    randomness,
  });
  const provider = new LocalProcessProvider(ipcInstanceChannel(process));
  const scaleController = composeScaleController(config.scaleController, io, { provider, release: version });
  const controlPlane = composeControlPlane(config.controlPlane, io, {
    front: (shared) => {
      const onNames = (names: readonly string[]): void => connections.reserve(names);
      const { proxy, parts, health } = composeCollectionFront(config.gateway, io, { ...shared, functions, onNames });
      // They belong to this installation, which is not ready without them.
      io.health.addPart(health);
      const { serve, serveFastLane } = proxy;
      return { serve, serveFastLane, connections, parts };
    },
    explainScaling: (address) => scaleController.reports.report(address),
  });
  const parts = [functions, scaleController.life, controlPlane.life];
  if (!config.collectionWorker) return { ...controlPlane, life: inOrder('platform', parts) };
  const { collectionWorkerProcess: worker } = await import('@drover/collection-worker');
  // Its metrics are on its own port. No other worker takes over when the whole platform stops.
  const sinks = { ...io.sinks, metrics: createMetrics('collection-worker') };
  const records = await worker.compose({ ...worker.parse(config.collectionWorker), handoverMs: 0 }, { ...io, sinks });
  return {
    life: inOrder('platform', [...parts, records.life]),
    announce: () => ({ ...controlPlane.announce?.(), ...records.announce?.() }),
  };
}

await runProcess({
  name: 'platform',
  parse: (environment) => ({
    controlPlane: controlPlaneProcess.parse(environment),
    gateway: parseGatewayConfig(environment),
    scaleController: parseScaleControllerConfig(environment),
    collectionWorker: environment['DROVER_COLLECTION_WORKERS'] === '0' ? environment : undefined,
  }),
  compose: composePlatform,
});
