import {
  optionalText,
  optionalUrl,
  parseConfiguration,
  type Configuration,
  type Environment,
} from '@drover/service-kit';

export const gatewayVariables = {
  runtimeUrl: optionalUrl('DROVER_RUNTIME_URL', {
    about: 'Where the runtime is called over HTTP: it gets every path that is not of the platform itself.',
  }),
  runtimeUrlFile: optionalText('DROVER_RUNTIME_URL_FILE', {
    about:
      'A file that holds that address once the runtime is there: neither waits for the other. `drover up` sets it.',
  }),
};

export type GatewayConfig = Configuration<typeof gatewayVariables>;

export function parseGatewayConfig(environment: Environment): GatewayConfig {
  return parseConfiguration('gateway', gatewayVariables, environment);
}
