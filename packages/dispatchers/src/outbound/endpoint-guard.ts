import { isIP, type LookupFunction } from 'node:net';
import { defineError } from '@drover/contracts';
import type { Clock } from '@drover/service-kit';
import { isPublicAddress, loopback } from './address-ranges.js';
import { plainName, type EndpointHosts } from './endpoint-hosts.js';
import { lookupAll, NameResolver, type Lookup } from './name-resolver.js';

export const endpointRefused = defineError<{ problem: string }>('ENDPOINT_REFUSED', {
  fault: 'caller',
  retryable: false,
  status: 400,
  message: (d) => d.problem,
  help: 'Endpoints and callbacks must be http or https URLs with a public address; whoever runs the platform allows others in `DROVER_ENDPOINT_HOSTS`.',
});

export const endpointErrors = { endpointRefused };

export interface EndpointGuardOptions {
  readonly hosts: EndpointHosts;
  /** The platform listens on loopback only: who can call it can reach loopback without it. */
  readonly allowsLoopback: boolean;
  readonly clock: Clock;
  readonly lookup?: Lookup;
}

/** Longer than any resolver that answers; a registration does not wait for one that does not. */
const resolveWithinMs = 3_000;

/**
 * Decides where we may connect to on behalf of tenants. Addresses are judged, not spellings: a URL is taken apart as browsers do, so
 * that 0x7f.1 is 127.0.0.1; a name is resolved once for each connection, every address it has must be allowed, and the
 * connection goes to one of these very addresses. What the name says a moment later is of no meaning.
 */
export class EndpointGuard {
  readonly #hosts: EndpointHosts;
  readonly #allowsLoopback: boolean;
  readonly #clock: Clock;
  readonly #names: NameResolver;

  constructor({ hosts, allowsLoopback, clock, lookup = lookupAll }: EndpointGuardOptions) {
    this.#hosts = hosts;
    this.#allowsLoopback = allowsLoopback;
    this.#clock = clock;
    this.#names = new NameResolver(lookup, clock);
  }

  /** For whoever registers: what is wrong with the URL and what to do. A name that nobody knows yet is no problem yet. */
  async problemOf(text: string): Promise<string | undefined> {
    const problem = this.quickProblemOf(text);
    if (problem !== undefined) return problem;
    const url = new URL(text);
    const host = hostOf(url);
    if (isIP(host) !== 0) return undefined;
    const port = portOf(url);
    let cancel = (): void => undefined;
    const tooLong = new Promise<[]>((resolve) => {
      cancel = this.#clock.after(resolveWithinMs, () => resolve([]));
    });
    try {
      const addresses = await Promise.race([this.#names.resolve(host), tooLong]);
      const allowed = addresses.every(({ address }) => this.#allows(address, host, port));
      return allowed ? undefined : notAllowed(url);
    } catch {
      return undefined;
    } finally {
      cancel();
    }
  }

  /** What can be said without asking for a name's addresses. */
  quickProblemOf(text: string): string | undefined {
    if (!URL.canParse(text)) return 'the URL cannot be read: write it as http://host/path or https://host/path';
    const url = new URL(text);
    if (url.protocol !== 'http:' && url.protocol !== 'https:')
      return `the URL begins with ${url.protocol}: only http and https are called`;
    if (url.username !== '' || url.password !== '')
      return 'the URL holds a user name or password: leave them out, since URLs are shown and logged';
    const host = hostOf(url);
    return isIP(host) === 0 || this.#allows(host, host, portOf(url)) ? undefined : notAllowed(url);
  }

  /** Throws `ENDPOINT_REFUSED` for an address that must not be connected to. */
  requireAddress(address: string, port: number): void {
    if (!this.#allows(address, address, port)) throw endpointRefused({ problem: refusal(address, port) });
  }

  /** For `net.connect`: hands out addresses only if each of them is allowed, and those are the ones connected to. */
  lookupFor(port: number): LookupFunction {
    return (name, options, answer) => {
      this.#names.resolve(name).then(
        (addresses) => {
          if (!addresses.every(({ address }) => this.#allows(address, name, port)))
            return answer(endpointRefused({ problem: refusal(name, port) }), '');
          const [first] = addresses;
          if (!first) return answer(new NoAddress(), '');
          if (options.all === true) return answer(null, [...addresses]);
          answer(null, first.address, first.family);
        },
        (error: NodeJS.ErrnoException) => answer(error, ''),
      );
    };
  }

  #allows(address: string, host: string, port: number): boolean {
    if (isPublicAddress(address)) return true;
    if (this.#allowsLoopback && loopback.has(address)) return true;
    return this.#hosts.allowsAddress(address, port) || (isIP(host) === 0 && this.#hosts.allowsName(host, port));
  }
}

/** An address without its brackets; a name as it stands. */
export function hostOf(url: URL): string {
  return url.hostname.startsWith('[') ? url.hostname.slice(1, -1) : url.hostname;
}

export function portOf(url: URL): number {
  if (url.port !== '') return Number(url.port);
  return url.protocol === 'https:' ? 443 : 80;
}

function notAllowed(url: URL): string {
  return refusal(hostOf(url), portOf(url));
}

/** Never says which address a name has: that is nobody's business outside. */
function refusal(host: string, port: number): string {
  const what =
    isIP(host) === 0 ? `${plainName(host)} has an address that is not public` : `${host} is not a public address`;
  return `${what}: use a public endpoint, or have whoever runs the platform allow ${isIP(host) === 6 ? `[${host}]` : plainName(host)}:${port} in DROVER_ENDPOINT_HOSTS`;
}

class NoAddress extends Error {
  readonly code = 'ENOTFOUND';
}
