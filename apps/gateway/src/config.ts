import { optionalUrl, parseConfiguration, type Configuration, type Environment } from '@drover/service-kit';

export const gatewayVariables = {
  runtimeUrl: optionalUrl('DROVER_RUNTIME_URL', {
    about: 'Where the runtime is called over HTTP, for `/api/**`. `drover up` sets it.',
  }),
};

export type GatewayConfig = Configuration<typeof gatewayVariables>;

export function parseGatewayConfig(environment: Environment): GatewayConfig {
  return parseConfiguration('gateway', gatewayVariables, environment);
}
