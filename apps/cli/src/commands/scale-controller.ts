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
  const missing = [
    ...(config.linkPort === 0 ? ['DROVER_SCALE_LINK_PORT'] : []),
    ...(config.linkToken ? [] : ['DROVER_SCALE_LINK_TOKEN']),
  ];
  if (config.runtimes > 0 && missing.length > 0)
    throw configurationInvalid({
      process: 'scale-controller',
      problems: missing.map((name) => `${name} is required with DROVER_SCALE_RUNTIMES`),
    });
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
