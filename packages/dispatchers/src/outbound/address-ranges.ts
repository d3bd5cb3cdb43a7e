import { BlockList, isIPv4, isIPv6 } from 'node:net';

/** IPv4 ranges that are not public: IANA's special-purpose registry, and addresses of cloud services. */
const notPublicV4 = [
  '0.0.0.0/8', // this host: a connection to it reaches loopback
  '10.0.0.0/8',
  '100.64.0.0/10', // carrier-grade NAT; contains the metadata service of one cloud
  '127.0.0.0/8',
  '168.63.129.16/32', // a platform service of Azure, although the address looks public
  '169.254.0.0/16', // link-local; contains the metadata service of most clouds
  '172.16.0.0/12',
  '192.0.0.0/24',
  '192.0.2.0/24',
  '192.88.99.0/24',
  '192.168.0.0/16',
  '198.18.0.0/15',
  '198.51.100.0/24',
  '203.0.113.0/24',
  '224.0.0.0/4',
  '240.0.0.0/4',
];

/** IPv6 ranges that can be public: global unicast, and the two forms that reach an IPv4 address. */
const maybePublicV6 = ['2000::/3', '::ffff:0:0/96', '64:ff9b::/96'];

/** Parts of them that are not public: protocol assignments (such as Teredo), 6to4 (which embeds an IPv4 address), documentation. */
const notPublicV6 = ['2001::/23', '2001:db8::/32', '2002::/16', '3fff::/20'];

/** A set of address ranges, written `a.b.c.d/n` or `x::y/n`. */
export class AddressRanges {
  readonly #list = new BlockList();

  constructor(ranges: readonly string[]) {
    for (const range of ranges) this.add(range);
  }

  /** Adds an IPv4 range with its IPv4-mapped IPv6 range: an IPv6 socket reaches the same hosts through it. */
  add(range: string): void {
    const [address = '', bits = ''] = range.split('/');
    const prefix = Number(bits);
    if (isIPv4(address)) {
      this.#list.addSubnet(address, prefix, 'ipv4');
      this.#list.addSubnet(`::ffff:${address}`, 96 + prefix, 'ipv6');
    } else {
      this.#list.addSubnet(address, prefix, 'ipv6');
    }
  }

  has(address: string): boolean {
    if (isIPv4(address)) return this.#list.check(address, 'ipv4');
    // The zone selects an interface, not a destination.
    const [plain = ''] = address.split('%');
    return isIPv6(plain) && this.#list.check(plain, 'ipv6');
  }
}

/** A NAT64 gateway would connect to the range from its own place in the network. */
function throughNat64(range: string): string {
  const [address, bits] = range.split('/');
  return `64:ff9b::${address}/${96 + Number(bits)}`;
}

const notPublic = new AddressRanges([...notPublicV4, ...notPublicV4.map(throughNat64), ...notPublicV6]);
const globalV6 = new AddressRanges(maybePublicV6);

export const loopback = new AddressRanges(['127.0.0.0/8', '::1/128']);

/** True for addresses of the public internet: not of this host, its network or its cloud. */
export function isPublicAddress(address: string): boolean {
  if (isIPv4(address)) return !notPublic.has(address);
  return globalV6.has(address) && !notPublic.has(address);
}
