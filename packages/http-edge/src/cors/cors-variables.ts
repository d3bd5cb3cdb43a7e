import {
  integer,
  oneOf,
  text,
  VariableProblem,
  type Configuration,
  type Rule,
  type Variable,
} from '@drover/service-kit';
import type { CorsPolicy } from './cors-policy.js';

const originsName = 'DROVER_CORS_ORIGINS';
const credentialsName = 'DROVER_CORS_CREDENTIALS';

/** Which pages of other origins may call functions and records: the gateway and the runtime have the same variables. */
export const corsVariables = {
  corsOrigins: origins(),
  corsCredentials: oneOf(credentialsName, ['on', 'off'], {
    default: 'off',
    about: 'Whether these pages may send cookies and other credentials of the browser. Needs a list of origins.',
  }),
  corsExposedHeaders: text('DROVER_CORS_EXPOSED_HEADERS', {
    default: 'ETag, Location, Retry-After, Server-Timing, X-Request-Id, X-Schema-Version, Preference-Applied',
    about: 'Headers of answers that scripts of these pages may read, separated by commas.',
  }),
  corsMaxAgeSeconds: integer('DROVER_CORS_MAX_AGE_SECONDS', {
    min: 0,
    max: 86_400,
    default: 600,
    about: 'How long browsers remember what a preflight request allowed.',
  }),
};

type CorsConfig = Configuration<typeof corsVariables>;

/** Refuses a combination that browsers ignore: pages would fail for a reason that no log has. */
export const corsRule: Rule<typeof corsVariables> = ({ corsOrigins, corsCredentials }) =>
  corsCredentials === 'on' && (corsOrigins.length === 0 || corsOrigins.includes('*'))
    ? `${credentialsName} is "on" without a list of origins; name them in ${originsName}, browsers send no credentials where all are allowed`
    : undefined;

/** Returns undefined if no page of another origin may call. */
export function corsPolicyOf({
  corsOrigins: allowed,
  corsCredentials,
  corsExposedHeaders,
  corsMaxAgeSeconds: maxAgeSeconds,
}: CorsConfig): CorsPolicy | undefined {
  if (allowed.length === 0) return undefined;
  const exposedHeaders = listOf(corsExposedHeaders);
  return { origins: allowed, allowsCredentials: corsCredentials === 'on', exposedHeaders, maxAgeSeconds };
}

function origins(): Variable<readonly string[]> {
  return {
    name: originsName,
    about:
      'Origins whose pages may call functions and records from a browser (CORS), separated by commas, such as `https://app.example,http://localhost:5173`; `*` for all. Unset: none, and `Host.CORS` of local.settings.json for the functions of an application. Requests from elsewhere are served as before: it is browsers that ask.',
    expects: 'origins, or *',
    read: (environment) => listOf(environment[originsName] ?? '').map(readOrigin),
  };
}

function readOrigin(written: string): string {
  if (written === '*') return written;
  const url = URL.canParse(written) ? new URL(written) : undefined;
  // The origin of an opaque scheme is "null", which every sandboxed page has.
  if (url && url.origin !== 'null' && url.href === `${url.origin}/`) return url.origin;
  throw new VariableProblem(
    `${originsName} has "${written}"; an origin is a scheme, a host and a port, such as https://app.example`,
  );
}

const listOf = (value: string): string[] =>
  value
    .split(',')
    .map((one) => one.trim())
    .filter((one) => one !== '');
