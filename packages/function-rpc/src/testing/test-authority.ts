import 'reflect-metadata'; // @peculiar/x509 requires it to be loaded first
import { webcrypto } from 'node:crypto';
import * as x509 from '@peculiar/x509';
import type { TlsCredentials } from '../grpc/peer.js';

const algorithm = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' };
const hourMs = 3_600_000;

/** The subject of a certificate. */
export interface TestSubject {
  readonly commonName: string;
  readonly uriNames?: readonly string[];
  /** Names and addresses of a server; `localhost` and `127.0.0.1` by default. */
  readonly hosts?: readonly string[];
  /** Validity; a negative value creates an expired certificate. */
  readonly validForMs?: number;
}

/** A certificate authority for one test. Its credentials trust each other and no others. */
export class TestAuthority {
  readonly #keys: webcrypto.CryptoKeyPair;
  readonly #certificate: x509.X509Certificate;
  #serial = 1;

  private constructor(keys: webcrypto.CryptoKeyPair, certificate: x509.X509Certificate) {
    this.#keys = keys;
    this.#certificate = certificate;
  }

  static async create(name = 'test authority'): Promise<TestAuthority> {
    const keys = await generateKeys();
    const certificate = await x509.X509CertificateGenerator.createSelfSigned({
      ...validity(hourMs),
      serialNumber: '01',
      name: `CN=${name}`,
      keys,
      signingAlgorithm: algorithm,
      extensions: [new x509.BasicConstraintsExtension(true, 0, true)],
    });
    return new TestAuthority(keys, certificate);
  }

  /** The certificate of the authority as PEM. */
  get ca(): string {
    return this.#certificate.toString('pem');
  }

  /** Issues a key and its certificate. */
  async issue(subject: TestSubject): Promise<TlsCredentials> {
    const keys = await generateKeys();
    const hosts = subject.hosts ?? ['localhost', '127.0.0.1'];
    const names = [
      ...(subject.uriNames ?? []).map((value) => ({ type: 'url', value }) as const),
      ...hosts.map((value) => ({ type: /^[\d.]+$|:/.test(value) ? 'ip' : 'dns', value }) as const),
    ];
    const certificate = await x509.X509CertificateGenerator.create({
      ...validity(subject.validForMs ?? hourMs),
      serialNumber: (++this.#serial).toString(16).padStart(4, '0'),
      subject: `CN=${subject.commonName}`,
      issuer: this.#certificate.subject,
      publicKey: keys.publicKey,
      signingKey: this.#keys.privateKey,
      signingAlgorithm: algorithm,
      extensions: [new x509.SubjectAlternativeNameExtension(names)],
    });
    const key = await webcrypto.subtle.exportKey('pkcs8', keys.privateKey);
    return { key: x509.PemConverter.encode(key, 'PRIVATE KEY'), cert: certificate.toString('pem'), ca: this.ca };
  }
}

async function generateKeys(): Promise<webcrypto.CryptoKeyPair> {
  return await webcrypto.subtle.generateKey(algorithm, true, ['sign', 'verify']);
}

function validity(forMs: number): { notBefore: Date; notAfter: Date } {
  return { notBefore: new Date(Date.now() - hourMs), notAfter: new Date(Date.now() + forMs) };
}
