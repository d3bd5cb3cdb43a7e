import { isIP, isIPv4 } from 'node:net';
import { AddressRanges, loopback } from './address-ranges.js';

/** Says which entry is wrong and how to write it. */
export class EndpointHostsProblem extends Error {}

/** One entry of the list. */
interface AllowedHost {
  readonly ranges?: AddressRanges;
  readonly name?: string;
  /** Begins with its dot. */
  readonly suffix?: string;
  /** Absent: any port. */
  readonly port?: number;
}

/** Hosts that endpoints may have although their addresses are not public. */
export class EndpointHosts {
  readonly #allowed: readonly AllowedHost[];

  private constructor(allowed: readonly AllowedHost[]) {
    this.#allowed = allowed;
  }

  /**
   * Parses a comma separated list: `name`, `*.suffix`, address, `address/bits`, or `loopback` for all addresses of this machine's
   * loopback interface, each with `:port` to allow that port only.
   */
  static parse(text: string): EndpointHosts {
    const entries = text.split(',').map((entry) => entry.trim());
    return new EndpointHosts(entries.filter((entry) => entry !== '').map(parseHost));
  }

  allowsName(name: string, port: number): boolean {
    const plain = plainName(name);
    return this.#allowed.some(
      (host) =>
        hasPort(host, port) && (host.name === plain || (host.suffix !== undefined && plain.endsWith(host.suffix))),
    );
  }

  allowsAddress(address: string, port: number): boolean {
    return this.#allowed.some((host) => hasPort(host, port) && host.ranges?.has(address) === true);
  }
}

/** Lower case, without the dot that marks a name as complete. */
export function plainName(name: string): string {
  return name.toLowerCase().replace(/\.$/, '');
}

function hasPort(host: AllowedHost, port: number): boolean {
  return host.port === undefined || host.port === port;
}

// Brackets separate an IPv6 address from its port; without brackets it has no port.
const bracketed = /^\[([0-9a-f:.]+)(\/\d+)?\](\/\d+)?(?::(\d+))?$/i;
const plain = /^([^:/]+)(\/\d+)?(?::(\d+))?$/;
const bare = /^([0-9a-f:.]*:[0-9a-f:.]*:[0-9a-f:.]*)(\/\d+)?$/i;

function parseHost(entry: string): AllowedHost {
  const [, v6, v6Inner, v6Outer, v6Port] = bracketed.exec(entry) ?? [];
  if (v6 !== undefined) return allowedHost(entry, v6, v6Inner ?? v6Outer, v6Port);
  const [, v6Bare, bareBits] = bare.exec(entry) ?? [];
  if (v6Bare !== undefined) return allowedHost(entry, v6Bare, bareBits, undefined);
  const [, host, bits, port] = plain.exec(entry) ?? [];
  if (host === undefined) throw unreadable(entry);
  return allowedHost(entry, host, bits, port);
}

function allowedHost(
  entry: string,
  host: string,
  bitsText: string | undefined,
  portText: string | undefined,
): AllowedHost {
  const port = portText === undefined ? undefined : Number(portText);
  if (port !== undefined && (port < 1 || port > 65_535)) throw unreadable(entry);
  const where = port === undefined ? {} : { port };
  if (isIP(host) !== 0) {
    const most = isIPv4(host) ? 32 : 128;
    const bits = bitsText === undefined ? most : Number(bitsText.slice(1));
    if (bits > most) throw unreadable(entry);
    return { ranges: new AddressRanges([`${host}/${bits}`]), ...where };
  }
  if (bitsText !== undefined) throw unreadable(entry);
  if (host.toLowerCase() === 'loopback') return { ranges: loopback, ...where };
  const isSuffix = host.startsWith('*.');
  const name = plainName(isSuffix ? host.slice(2) : host);
  // Hosts of parsed URLs are compared with it, so it must be in the form that URL parsing yields: 0x7f.1 would be an address.
  if (!/^[a-z0-9_.-]+$/.test(name) || !URL.canParse(`http://${name}/`) || new URL(`http://${name}/`).hostname !== name)
    throw unreadable(entry);
  return isSuffix ? { suffix: `.${name}`, ...where } : { name, ...where };
}

function unreadable(entry: string): EndpointHostsProblem {
  return new EndpointHostsProblem(
    `"${entry}" is not a host: write a name, *.suffix, an address, address/bits or loopback, each with :port to allow that port only ([…]:port for IPv6)`,
  );
}
