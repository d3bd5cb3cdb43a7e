import { optionalText, optionalUrl, secret } from '@drover/service-kit';

/** Where functions of deployed applications run. The names are those that gateway and runtime have for the same. */
export const appVariables = {
  runtimeUrl: optionalUrl('DROVER_RUNTIME_URL', {
    about: 'Where the runtime is called over HTTP, for functions of deployed applications (mode APP).',
  }),
  runtimeUrlFile: optionalText('DROVER_RUNTIME_URL_FILE', {
    about:
      'A file that holds that address once the runtime is there: neither waits for the other. `drover up` sets it.',
  }),
  functionsMasterKey: secret('DROVER_FUNCTIONS_MASTER_KEY', {
    about: 'The master key of the runtime: with it, its functions are listed and called through `/v1`.',
  }),
};
