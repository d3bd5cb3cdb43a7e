import { BlockList, isIPv4, isIPv6 } from 'node:net';

/** IPv4 that no stranger's endpoint can have: what IANA keeps for special purposes, and what clouds keep for themselves. */
const notPublicV4 = [
  '0.0.0.0/8', // this host: connecting there reaches loopback
  '10.0.0.0/8',
  '100.64.0.0/10', // shared by carriers; one cloud's metadata service is in it
  '127.0.0.0/8',
  '168.63.129.16/32', // a cloud's own service, by an address that looks public
  '169.254.0.0/16', // link-local, with the metadata service of most clouds
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

/** IPv6 that can be public at all: global unicast, and the two forms in which an IPv4 address is really reached. */
const maybePublicV6 = ['2000::/3', '::ffff:0:0/96', '64:ff9b::/96'];

/** Within those: protocols' own addresses (Teredo among them), 6to4 (which hides an IPv4 address), documentation. */
const notPublicV6 = ['2001::/23', '2001:db8::/32', '2002::/16', '3fff::/20'];

/** Ranges of addresses: `a.b.c.d/n` or `x::y/n`. */
export class AddressRanges {
  readonly #list = new BlockList();

  constructor(ranges: readonly string[]) {
    for (const range of ranges) this.add(range);
  }

  /** An IPv4 range also holds the mapped addresses, by which it is reached from an IPv6 socket. */
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
    // A zone says over which interface, not where to.
    const [plain = ''] = address.split('%');
    return isIPv6(plain) && this.#list.check(plain, 'ipv6');
  }
}

/** Behind NAT64 they are reached from the gateway's place in the network. */
function throughNat64(range: string): string {
  const [address, bits] = range.split('/');
  return `64:ff9b::${address}/${96 + Number(bits)}`;
}

const notPublic = new AddressRanges([...notPublicV4, ...notPublicV4.map(throughNat64), ...notPublicV6]);
const globalV6 = new AddressRanges(maybePublicV6);

export const loopback = new AddressRanges(['127.0.0.0/8', '::1/128']);

/** Whether everybody on the internet could have this address: nothing of the host, its network or its cloud. */
export function isPublicAddress(address: string): boolean {
  if (isIPv4(address)) return !notPublic.has(address);
  return globalV6.has(address) && !notPublic.has(address);
}
