import {
  integer,
  milliseconds,
  oneOf,
  optionalText,
  optionalUrl,
  secret,
  VariableProblem,
  type Variable,
} from '@drover/service-kit';
import { EndpointHosts, EndpointHostsProblem } from './outbound/endpoint-hosts.js';

/** The user that code of functions runs as, in the modes LOCAL and REMOTE. */
export const functionsUserVariables = {
  functionsUser: optionalText('DROVER_FUNCTIONS_USER', {
    about:
      'User that handlers of the mode LOCAL and jobs of the mode REMOTE run as if Drover is started as root: a name, `uid` or `uid:gid`. Unset: 65530:65530, which no account has. `root` keeps the user of the platform, whose files and keys functions can then read. Without effect if Drover is not started as root.',
  }),
};

/** Variables of the mode LOCAL. */
export const localVariables = {
  handlersDirectory: optionalText('DROVER_HANDLERS_DIR', {
    about:
      'The folder with the handler modules of functions in the mode LOCAL. Without it, that mode is not available.',
  }),
  localDriver: oneOf('DROVER_LOCAL_DRIVER', ['processes', 'threads'], {
    default: 'processes',
    about:
      'What runs handlers of the mode LOCAL. Only processes isolate: a thread shares the memory of the control plane and can crash it.',
  }),
  localMaxPools: integer('DROVER_LOCAL_MAX_POOLS', {
    min: 1,
    max: 10_000,
    default: 64,
    about: 'Maximum number of functions in the mode LOCAL that have workers at the same time.',
  }),
  localIdleMs: milliseconds('DROVER_LOCAL_IDLE_MS', {
    min: 1_000,
    default: 300_000,
    about: 'How long the workers of a function in the mode LOCAL stay without a call.',
  }),
};

/** Variables of the mode REMOTE. */
export const jobVariables = {
  jobRunner: oneOf('DROVER_JOB_RUNNER', ['off', 'process'], {
    default: 'off',
    about:
      'What runs the jobs of functions in the mode REMOTE. `process` starts programs on this machine: every key with the scope `functions:commands` can then run any program here, as `DROVER_FUNCTIONS_USER` if Drover runs as root, else as the user of the platform.',
  }),
  maxJobs: integer('DROVER_MAX_JOBS', {
    min: 1,
    max: 100_000,
    default: 64,
    about: 'Maximum number of jobs of functions in the mode REMOTE at the same time, over all functions.',
  }),
  jobGraceMs: milliseconds('DROVER_JOB_GRACE_MS', {
    max: 600_000,
    default: 5_000,
    about: 'How long a job may take to end after SIGTERM before it is killed.',
  }),
};

/** Variables of the mode APP. Gateway and runtime use the same names. */
export const appVariables = {
  runtimeUrl: optionalUrl('DROVER_RUNTIME_URL', {
    about: 'The HTTP address of the runtime, for functions of deployed applications (mode APP).',
  }),
  runtimeUrlFile: optionalText('DROVER_RUNTIME_URL_FILE', {
    about:
      'A file with that address, written when the runtime listens, so that neither process waits for the other to start. Set by `drover up`.',
  }),
  functionsMasterKey: secret('DROVER_FUNCTIONS_MASTER_KEY', {
    about: 'The master key of the runtime. The control plane lists and calls its functions with it.',
  }),
};

const hostsName = 'DROVER_ENDPOINT_HOSTS';

const endpointHosts: Variable<EndpointHosts> = {
  name: hostsName,
  about:
    'Hosts that endpoints and callbacks may have although their addresses are not public, comma separated: `name`, `*.suffix`, `address`, `address/bits`, or `loopback` for this machine, each with `:port` to allow that port only. Public addresses need no entry. Loopback always needs one: a caller could otherwise reach every service that listens on this machine only.',
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

/** Variables of connections to endpoints and callbacks. */
export const endpointVariables = {
  endpointHosts,
  endpointAnswerLimitBytes: integer('DROVER_ENDPOINT_ANSWER_LIMIT_BYTES', {
    min: 1_024,
    max: 67_108_864,
    default: 8_388_608,
    about: 'The largest response of an endpoint. The connection is closed when a response is larger.',
  }),
};
