import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { AddressRanges, isPublicAddress } from './address-ranges.js';

describe('isPublicAddress', () => {
  it.each([
    ['8.8.8.8'],
    ['1.1.1.1'],
    ['11.0.0.0'],
    ['9.255.255.255'],
    ['100.63.255.255'],
    ['100.128.0.0'],
    ['126.255.255.255'],
    ['128.0.0.0'],
    ['169.253.255.255'],
    ['169.255.0.0'],
    ['172.15.255.255'],
    ['172.32.0.0'],
    ['192.167.255.255'],
    ['192.169.0.0'],
    ['198.17.255.255'],
    ['198.20.0.0'],
    ['223.255.255.255'],
    ['2606:4700:4700::1111'],
    ['2a00:1450::1'],
    ['::ffff:8.8.8.8'],
    ['64:ff9b::8.8.8.8'],
    ['64:ff9b::808:808'],
  ])('%s is', (address) => expect(isPublicAddress(address)).toBe(true));

  it.each([
    ['0.0.0.0'],
    ['0.1.2.3'],
    ['10.0.0.0'],
    ['10.255.255.255'],
    ['100.64.0.0'],
    ['100.100.100.200'],
    ['100.127.255.255'],
    ['127.0.0.1'],
    ['127.255.255.255'],
    ['168.63.129.16'],
    ['169.254.169.254'],
    ['172.16.0.0'],
    ['172.31.255.255'],
    ['192.0.0.192'],
    ['192.0.2.1'],
    ['192.88.99.1'],
    ['192.168.0.1'],
    ['198.18.0.1'],
    ['198.19.255.255'],
    ['198.51.100.1'],
    ['203.0.113.1'],
    ['224.0.0.1'],
    ['239.255.255.255'],
    ['240.0.0.1'],
    ['255.255.255.255'],
    ['::'],
    ['::1'],
    ['::7f00:1'],
    ['::8.8.8.8'],
    ['::ffff:127.0.0.1'],
    ['::ffff:7f00:1'],
    ['::ffff:a9fe:a9fe'],
    ['::ffff:0:7f00:1'],
    ['64:ff9b::7f00:1'],
    ['64:ff9b::10.0.0.1'],
    ['64:ff9b::a9fe:a9fe'],
    ['64:ff9b:1::808:808'],
    ['100::1'],
    ['2001::1'],
    ['2001:0:7f00:1::'],
    ['2001:2::1'],
    ['2001:10::1'],
    ['2001:db8::1'],
    ['2002:7f00:1::'],
    ['2002:808:808::'],
    ['3fff::1'],
    ['5f00::1'],
    ['fc00::1'],
    ['fd00:ec2::254'],
    ['fe80::1'],
    ['fe80::1%eth0'],
    ['fec0::1'],
    ['ff02::1'],
    ['localhost'],
    [''],
    ['1.2.3'],
  ])('%s is not', (address) => expect(isPublicAddress(address)).toBe(false));
});

describe('AddressRanges', () => {
  it('hold exactly the addresses whose first bits are theirs', () => {
    const octets = fc.tuple(fc.nat(255), fc.nat(255), fc.nat(255), fc.nat(255));
    const toNumber = (address: readonly number[]): number => address.reduce((sum, octet) => sum * 256 + octet, 0);
    fc.assert(
      fc.property(octets, octets, fc.integer({ min: 1, max: 32 }), (range, address, bits) => {
        const size = 2 ** (32 - bits);
        const isInside = Math.floor(toNumber(range) / size) === Math.floor(toNumber(address) / size);
        const ranges = new AddressRanges([`${range.join('.')}/${bits}`]);
        expect(ranges.has(address.join('.'))).toBe(isInside);
        expect(ranges.has(`::ffff:${address.join('.')}`)).toBe(isInside);
        expect(ranges.has(range.join('.'))).toBe(true);
      }),
      { numRuns: 500 },
    );
  });
});
