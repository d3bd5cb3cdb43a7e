import { ProcessHost, processHostReaders, type RoleProgram } from '@drover/instance-provider';
import {
  composeScaleController,
  parseScaleControllerConfig,
  type ScaleControllerConfig,
} from '@drover/scale-controller';
import {
  configurationInvalid,
  createObserve,
  inOrder,
  Leash,
  runProcess,
  step,
  type Composition,
  type Environment,
  type ProcessIo,
} from '@drover/service-kit';
import { functionWorkerProgram } from '../up/function-workers.js';

/** Runs a scale controller by itself. It hosts the processes that it starts on this machine, and they end with it. */
export async function runScaleController(host: NodeJS.Process, release: string): Promise<void> {
  const [, program = ''] = host.argv;
  await runProcess(
    {
      name: 'scale-controller',
      parse: (environment) => ({ ...parseAlone(environment), environment }),
      compose: ({ environment, ...config }, io) => composeAlone(config, io, { environment, program, release }),
    },
    host,
  );
}

function parseAlone(environment: Environment): ScaleControllerConfig {
  const config = parseScaleControllerConfig(environment);
  // Without them the runtimes that it starts could not attach.
  const ofRuntimes = [
    ...(config.linkPort === 0 ? ['DROVER_SCALE_LINK_PORT'] : []),
    ...(config.linkToken ? [] : ['DROVER_SCALE_LINK_TOKEN']),
  ];
  // Without them the collection workers that it starts could not register.
  const ofCollectionWorkers = [
    ...((config.controlPlaneUrl ?? config.controlPlaneUrlFile) ? [] : ['CONTROL_PLANE_URL']),
    ...(config.workerJoinKey ? [] : ['DROVER_WORKER_JOIN_KEY']),
  ];
  const problems = [
    ...(config.runtimes > 0 ? ofRuntimes.map((name) => `${name} is required with DROVER_SCALE_RUNTIMES`) : []),
    ...(config.maxCollectionWorkers > 0
      ? ofCollectionWorkers.map((name) => `${name} is required with DROVER_COLLECTION_WORKERS_MAX`)
      : []),
  ];
  if (problems.length > 0) throw configurationInvalid({ process: 'scale-controller', problems });
  return config;
}

function composeAlone(
  config: ScaleControllerConfig,
  io: ProcessIo,
  {
    environment,
    program,
    release,
  }: { readonly environment: Environment; readonly program: string; readonly release: string },
): Composition {
  const leash = new Leash();
  const provider = new ProcessHost({
    programs: {
      'function-worker': functionWorkerProgram(environment, process.cwd()),
      'collection-worker': registeringWorkerProgram(environment, program),
      runtime: runtimeProgram(environment, program, config),
    },
    leash,
    clock: io.clock,
    observe: createObserve(processHostReaders, io.sinks),
  });
  const composition = composeScaleController(config, io, { provider, release });
  return {
    ...composition,
    life: inOrder('scale controller', [
      step('leash', { down: () => leash.stop() }),
      step('instances', { down: () => provider.stop() }),
      composition.life,
    ]),
  };
}

/** A runtime that attaches here. Several run on one machine, so each takes free ports. */
function runtimeProgram(environment: Environment, program: string, { linkPort }: ScaleControllerConfig): RoleProgram {
  const { DROVER_SECRETS_KEY: _key, DROVER_SECRETS_KEY_FILE: _file, ...rest } = environment;
  return {
    command: { executable: process.execPath, args: [program, 'runtime'] },
    environment: {
      DROVER_SCALE_LINK_URL: `http://127.0.0.1:${linkPort}`,
      ...rest,
      DROVER_FUNCTIONS_APPS: '',
      DROVER_RUNTIME_PORT: '0',
      DROVER_RPC_PORT: '0',
      DROVER_RPC_LOOPBACK_PORT: '0',
    },
    directory: process.cwd(),
  };
}

/** A collection worker that registers with the configured control plane. Several run on one machine, so each takes a free port. */
function registeringWorkerProgram(environment: Environment, program: string): RoleProgram {
  const { WORKER_URL: _ofOne, ...rest } = environment;
  return {
    command: { executable: process.execPath, args: [program, 'collection-worker'] },
    environment: { ...rest, DROVER_COLLECTION_WORKER_PORT: '0' },
    directory: process.cwd(),
  };
}
