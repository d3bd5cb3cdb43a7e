import { runProcess } from '@drover/service-kit';

// Each role imports only its own app: the others would only slow its start.

export async function runControlPlane(host: NodeJS.Process): Promise<void> {
  const { controlPlaneProcess } = await import('@drover/control-plane');
  await runProcess(controlPlaneProcess, host);
}

export async function runCollectionWorker(host: NodeJS.Process): Promise<void> {
  const { collectionWorkerProcess } = await import('@drover/collection-worker');
  await runProcess(collectionWorkerProcess, host);
}

export async function runGateway(host: NodeJS.Process): Promise<void> {
  const { gatewayProcess } = await import('@drover/gateway');
  await runProcess(gatewayProcess, host);
}

export async function runRuntime(host: NodeJS.Process): Promise<void> {
  const [{ runtimeProcess }, { withNodeWorker }] = await Promise.all([
    import('@drover/runtime'),
    import('../up/node-worker-command.js'),
  ]);
  await runProcess(runtimeProcess(withNodeWorker(host.env)), host);
}
