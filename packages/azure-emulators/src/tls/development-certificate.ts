import { generateKeyPairSync, randomBytes, sign, X509Certificate } from 'node:crypto';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { der, derInteger, objectId, sequence, set, utcTime, utf8 } from './der.js';

/** A key and a certificate that vouches for itself, in PEM. */
export interface DevelopmentCertificate {
  readonly key: string;
  readonly cert: string;
}

const dayMs = 86_400_000;
/** Apple's clients refuse certificates that are valid for longer than 825 days. */
const validDays = 730;
const renewDays = 30;
const names = ['localhost', 'host.docker.internal'];
const addresses = [Buffer.from([127, 0, 0, 1]), Buffer.concat([Buffer.alloc(15), Buffer.from([1])])];

const commonName = objectId(0x55, 0x04, 0x03);
const subjectAltName = objectId(0x55, 0x1d, 0x11);
const ecdsaWithSha256 = sequence(objectId(0x2a, 0x86, 0x48, 0xce, 0x3d, 0x04, 0x03, 0x02));

/**
 * Returns the certificate with which emulators serve TLS. With a directory it is stored there, and made anew a month before it
 * ends; developers trust `certificate.pem` once. Without one it lives as long as the process.
 */
export function developmentCertificate(directory: string | undefined, nowMs: number): DevelopmentCertificate {
  if (directory === undefined) return createCertificate(nowMs);
  const files = { key: path.join(directory, 'certificate-key.pem'), cert: path.join(directory, 'certificate.pem') };
  const stored = readStored(files, nowMs);
  if (stored) return stored;
  const created = createCertificate(nowMs);
  mkdirSync(directory, { recursive: true });
  writeFileSync(files.key, created.key, { mode: 0o600 });
  writeFileSync(files.cert, created.cert);
  return created;
}

function readStored(files: DevelopmentCertificate, nowMs: number): DevelopmentCertificate | undefined {
  try {
    const [key, cert] = [readFileSync(files.key, 'utf8'), readFileSync(files.cert, 'utf8')];
    const { validTo } = new X509Certificate(cert);
    return Date.parse(validTo) - nowMs > renewDays * dayMs ? { key, cert } : undefined;
  } catch {
    return undefined; // absent, or written in part by a process that was killed
  }
}

function createCertificate(nowMs: number): DevelopmentCertificate {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const issuer = sequence(set(sequence(commonName, utf8('Drover emulators, for development'))));
  const altNames = [...names.map((name) => der(0x82, Buffer.from(name))), ...addresses.map((ip) => der(0x87, ip))];
  const serial = randomBytes(8);
  serial[0] = 0x40 | ((serial[0] ?? 0) & 0x3f); // positive, without a leading zero
  const body = sequence(
    der(0xa0, derInteger(Buffer.of(2))),
    derInteger(serial),
    ecdsaWithSha256,
    issuer,
    sequence(utcTime(nowMs - dayMs), utcTime(nowMs + validDays * dayMs)),
    issuer,
    publicKey.export({ type: 'spki', format: 'der' }),
    der(0xa3, sequence(sequence(subjectAltName, der(0x04, sequence(...altNames))))),
  );
  const signature = der(0x03, Buffer.concat([Buffer.of(0), sign('sha256', body, privateKey)]));
  const encoded = sequence(body, ecdsaWithSha256, signature).toString('base64');
  const lines = encoded.match(/.{1,64}/g) ?? [];
  return {
    key: privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
    cert: ['-----BEGIN CERTIFICATE-----', ...lines, '-----END CERTIFICATE-----', ''].join('\n'),
  };
}
