import { isIP, isIPv4 } from 'node:net';
import { AddressRanges } from './address-ranges.js';

/** A sentence that ends with what to do. */
export class EndpointHostsProblem extends Error {}

interface Place {
  readonly ranges?: AddressRanges;
  readonly name?: string;
  /** With its dot. */
  readonly suffix?: string;
  /** Any, if absent. */
  readonly port?: number;
}

/** Hosts that endpoints may have though their addresses are not public. Compiled once from text. */
export class EndpointHosts {
  readonly #places: readonly Place[];

  private constructor(places: readonly Place[]) {
    this.#places = places;
  }

  /** Comma separated: `name`, `*.suffix`, address, `address/bits`, each with `:port` if only that port is meant. */
  static parse(text: string): EndpointHosts {
    const entries = text.split(',').map((entry) => entry.trim());
    return new EndpointHosts(entries.filter((entry) => entry !== '').map(parsePlace));
  }

  allowsName(name: string, port: number): boolean {
    const plain = plainName(name);
    return this.#places.some(
      (place) =>
        fits(place, port) && (place.name === plain || (place.suffix !== undefined && plain.endsWith(place.suffix))),
    );
  }

  allowsAddress(address: string, port: number): boolean {
    return this.#places.some((place) => fits(place, port) && place.ranges?.has(address) === true);
  }
}

/** The dot at the end only says that a name is complete. */
export function plainName(name: string): string {
  return name.toLowerCase().replace(/\.$/, '');
}

function fits(place: Place, port: number): boolean {
  return place.port === undefined || place.port === port;
}

// An address of the 6th version is told from its port by brackets, or by having no port at all.
const bracketed = /^\[([0-9a-f:.]+)(\/\d+)?\](\/\d+)?(?::(\d+))?$/i;
const plain = /^([^:/]+)(\/\d+)?(?::(\d+))?$/;
const bare = /^([0-9a-f:.]*:[0-9a-f:.]*:[0-9a-f:.]*)(\/\d+)?$/i;

function parsePlace(entry: string): Place {
  const [, v6, v6Inner, v6Outer, v6Port] = bracketed.exec(entry) ?? [];
  if (v6 !== undefined) return place(entry, v6, v6Inner ?? v6Outer, v6Port);
  const [, v6Bare, bareBits] = bare.exec(entry) ?? [];
  if (v6Bare !== undefined) return place(entry, v6Bare, bareBits, undefined);
  const [, host, bits, port] = plain.exec(entry) ?? [];
  if (host === undefined) throw unreadable(entry);
  return place(entry, host, bits, port);
}

function place(entry: string, host: string, bitsText: string | undefined, portText: string | undefined): Place {
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
  const isSuffix = host.startsWith('*.');
  const name = plainName(isSuffix ? host.slice(2) : host);
  // What a URL makes of it is what will be compared: 0x7f.1 would be an address, and * has no meaning inside a name.
  if (!/^[a-z0-9_.-]+$/.test(name) || !URL.canParse(`http://${name}/`) || new URL(`http://${name}/`).hostname !== name)
    throw unreadable(entry);
  return isSuffix ? { suffix: `.${name}`, ...where } : { name, ...where };
}

function unreadable(entry: string): EndpointHostsProblem {
  return new EndpointHostsProblem(
    `"${entry}" is no host: write a name, *.suffix, an address or address/bits, each with :port if only that port is meant ([…]:port for IPv6)`,
  );
}
