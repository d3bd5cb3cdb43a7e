import { integer, VariableProblem, type Variable } from '@drover/service-kit';
import { EndpointHosts, EndpointHostsProblem } from './endpoint-hosts.js';

const hostsName = 'DROVER_ENDPOINT_HOSTS';

const endpointHosts: Variable<EndpointHosts> = {
  name: hostsName,
  about:
    'Hosts that endpoints and callbacks may have though their addresses are not public, comma separated: `name`, `*.suffix`, `address` or `address/bits`, each with `:port` if only that port is meant. Public addresses need no entry; loopback needs none while the platform itself listens on loopback only.',
  expects: 'hosts, comma separated',
  read(environment) {
    try {
      return EndpointHosts.parse(environment[hostsName] ?? '');
    } catch (error) {
      if (error instanceof EndpointHostsProblem) throw new VariableProblem(`${hostsName}: ${error.message}`);
      throw error;
    }
  },
};

export const endpointVariables = {
  endpointHosts,
  endpointAnswerLimitBytes: integer('DROVER_ENDPOINT_ANSWER_LIMIT_BYTES', {
    min: 1_024,
    max: 67_108_864,
    default: 8_388_608,
    about: 'The largest answer of an endpoint; what sends more is cut off.',
  }),
};
