import { generateKeyPairSync, sign } from 'node:crypto';

/** A key and a certificate that vouches for itself, good for `names` from yesterday until tomorrow. */
export function selfSigned(...names: readonly string[]): { readonly key: string; readonly cert: string } {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const dayMs = 86_400_000;
  const issuer = sequence(set(sequence(commonName, utf8('drover test'))));
  const altNames = sequence(...names.map((name) => der(0x82, Buffer.from(name))));
  const body = sequence(
    der(0xa0, integer(2)),
    integer(1),
    ecdsaWithSha256,
    issuer,
    sequence(utcTime(Date.now() - dayMs), utcTime(Date.now() + dayMs)),
    issuer,
    publicKey.export({ type: 'spki', format: 'der' }),
    der(0xa3, sequence(sequence(subjectAltName, der(0x04, altNames)))),
  );
  const signature = sign('sha256', body, privateKey);
  const certificate = sequence(body, ecdsaWithSha256, der(0x03, Buffer.concat([Buffer.of(0), signature])));
  return {
    key: privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
    cert: `-----BEGIN CERTIFICATE-----\n${certificate.toString('base64')}\n-----END CERTIFICATE-----\n`,
  };
}

/** One value: what it is, how long, and the bytes. */
function der(tag: number, content: Buffer): Buffer {
  const { length } = content;
  const size = length < 128 ? [length] : length < 256 ? [0x81, length] : [0x82, length >> 8, length & 0xff];
  return Buffer.concat([Buffer.of(tag, ...size), content]);
}

function sequence(...parts: readonly Buffer[]): Buffer {
  return der(0x30, Buffer.concat(parts));
}

function set(part: Buffer): Buffer {
  return der(0x31, part);
}

function integer(value: number): Buffer {
  return der(0x02, Buffer.of(value));
}

function utf8(text: string): Buffer {
  return der(0x0c, Buffer.from(text));
}

/** Two digits of the year, month, day, hour, minute, second. */
function utcTime(ms: number): Buffer {
  const digits = new Date(ms).toISOString().replaceAll(/[-:T]/g, '').slice(2, 14);
  return der(0x17, Buffer.from(`${digits}Z`));
}

const commonName = der(0x06, Buffer.of(0x55, 0x04, 0x03));
const subjectAltName = der(0x06, Buffer.of(0x55, 0x1d, 0x11));
const ecdsaWithSha256 = sequence(der(0x06, Buffer.of(0x2a, 0x86, 0x48, 0xce, 0x3d, 0x04, 0x03, 0x02)));
