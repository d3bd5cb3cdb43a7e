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
  help: 'The URL of an endpoint or callback is not allowed. Use an http or https URL with a public address, or add the host to `DROVER_ENDPOINT_HOSTS`: also for this machine, where the entry is `loopback`.',
});

export const endpointErrors = { endpointRefused };

export interface EndpointGuardOptions {
  readonly hosts: EndpointHosts;
  readonly clock: Clock;
  readonly lookup?: Lookup;
}

/** A registration does not wait longer for a resolver. */
const resolveWithinMs = 3_000;

/**
 * Decides which addresses the platform connects to on behalf of tenants, so that no tenant reaches the operator's network
 * (server-side request forgery). Addresses are checked, not spellings: URLs are parsed as browsers do, so 0x7f.1 is 127.0.0.1. A
 * name is resolved once for each connection, all its addresses must be allowed, and the connection goes to one of them: a
 * different answer of the resolver a moment later (DNS rebinding) has no effect. Loopback is no exception, wherever the platform
 * itself listens: behind a proxy on the same host it listens on loopback and serves the internet.
 */
export class EndpointGuard {
  readonly #hosts: EndpointHosts;
  readonly #clock: Clock;
  readonly #names: NameResolver;

  constructor({ hosts, clock, lookup = lookupAll }: EndpointGuardOptions) {
    this.#hosts = hosts;
    this.#clock = clock;
    this.#names = new NameResolver(lookup, clock);
  }

  /** Returns what is wrong with the URL of a registration and what to do. A name that does not resolve yet is accepted. */
  async problemOf(text: string): Promise<string | undefined> {
    const problem = this.quickProblemOf(text);
    if (problem !== undefined) return problem;
    const url = new URL(text);
    const host = endpointHostOf(url);
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

  /** Checks what needs no name resolution. */
  quickProblemOf(text: string): string | undefined {
    if (!URL.canParse(text)) return 'the URL cannot be parsed: write it as http://host/path or https://host/path';
    const url = new URL(text);
    if (url.protocol !== 'http:' && url.protocol !== 'https:')
      return `the URL begins with ${url.protocol}: use http or https`;
    if (url.username !== '' || url.password !== '')
      return 'the URL contains a user name or password: remove them, since URLs are shown and logged';
    const host = endpointHostOf(url);
    return isIP(host) === 0 || this.#allows(host, host, portOf(url)) ? undefined : notAllowed(url);
  }

  /** Throws `ENDPOINT_REFUSED` for an address that must not be connected to. */
  requireAddress(address: string, port: number): void {
    if (!this.#allows(address, address, port)) throw endpointRefused({ problem: refusal(address, port) });
  }

  /** Returns a `lookup` for `net.connect` that fails unless all addresses of the name are allowed. */
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
    return this.#hosts.allowsAddress(address, port) || (isIP(host) === 0 && this.#hosts.allowsName(host, port));
  }
}

/** The host name, or the address without brackets. */
export function endpointHostOf(url: URL): string {
  return url.hostname.startsWith('[') ? url.hostname.slice(1, -1) : url.hostname;
}

export function portOf(url: URL): number {
  if (url.port !== '') return Number(url.port);
  return url.protocol === 'https:' ? 443 : 80;
}

function notAllowed(url: URL): string {
  return refusal(endpointHostOf(url), portOf(url));
}

/** Must not disclose the addresses of a name: they may be those of the operator's network. */
function refusal(host: string, port: number): string {
  const what =
    isIP(host) === 0 ? `${plainName(host)} has an address that is not public` : `${host} is not a public address`;
  const entry = `${isIP(host) === 6 ? `[${host}]` : plainName(host)}:${port}`;
  const all = isThisMachine(host) ? '; the entry "loopback" allows every port of this machine' : '';
  return `${what}: use a public endpoint, or ask the operator of the platform to add ${entry} to DROVER_ENDPOINT_HOSTS${all}`;
}

/** By the spelling alone, which the caller knows already. */
function isThisMachine(host: string): boolean {
  return loopback.has(host) || plainName(host) === 'localhost';
}

class NoAddress extends Error {
  readonly code = 'ENOTFOUND';
}
