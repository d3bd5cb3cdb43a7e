import 'reflect-metadata'; // must be loaded before @peculiar/x509
import { randomBytes, webcrypto } from 'node:crypto';
import * as x509 from '@peculiar/x509';
import type { TlsCredentials } from '@drover/function-rpc';

const algorithm = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' };
const dayMs = 86_400_000;
const authorityDays = 3_650;
const certificateDays = 90;
/** Certificates are valid from a little earlier, since clocks differ between machines. */
const earlierMs = 300_000;

/** A private key and its certificate in PEM. */
export interface KeyAndCertificate {
  readonly key: string;
  readonly cert: string;
}

/** The subject of a worker certificate. It includes the application, so that the worker can run no other. */
interface WorkerIdentity {
  readonly tenantId: string;
  /** Undefined for a placeholder. */
  readonly applicationKey: string | undefined;
  readonly workerId: string;
}

/** The URI name in the certificate of a worker. */
export function workerUri({ tenantId, applicationKey, workerId }: WorkerIdentity): string {
  const application = applicationKey === undefined ? '-' : encodeURIComponent(applicationKey);
  return `drover://${encodeURIComponent(tenantId)}/${application}/${encodeURIComponent(workerId)}`;
}

/** Issues the certificates of runtimes and workers. Only certificates of the same authority are accepted. */
export class CertificateAuthority {
  readonly #keys: { readonly privateKey: webcrypto.CryptoKey };
  readonly #certificate: x509.X509Certificate;

  private constructor(keys: { readonly privateKey: webcrypto.CryptoKey }, certificate: x509.X509Certificate) {
    this.#keys = keys;
    this.#certificate = certificate;
  }

  static async create(): Promise<{ readonly authority: CertificateAuthority; readonly stored: KeyAndCertificate }> {
    const keys = await generateKeys();
    const certificate = await x509.X509CertificateGenerator.createSelfSigned({
      ...validity(authorityDays),
      serialNumber: serial(),
      name: 'CN=Drover',
      keys,
      signingAlgorithm: algorithm,
      extensions: [
        new x509.BasicConstraintsExtension(true, 0, true),
        new x509.KeyUsagesExtension(x509.KeyUsageFlags.keyCertSign, true),
      ],
    });
    const stored = { key: await toPem(keys.privateKey), cert: certificate.toString('pem') };
    return { authority: new CertificateAuthority(keys, certificate), stored };
  }

  static async open({ key, cert }: KeyAndCertificate): Promise<CertificateAuthority> {
    const [der] = x509.PemConverter.decode(key);
    if (!der)
      throw new Error(
        'The private key of the certificate authority cannot be read. Restore authority.json, or remove it to create a new authority.',
      );
    const privateKey = await webcrypto.subtle.importKey('pkcs8', der, algorithm, false, ['sign']);
    return new CertificateAuthority({ privateKey }, new x509.X509Certificate(cert));
  }

  get ca(): string {
    return this.#certificate.toString('pem');
  }

  /** Issues the certificate of a runtime for the host names and addresses that workers use. */
  issueServer(hosts: readonly string[]): Promise<TlsCredentials> {
    const names = hosts.map((value) => ({ type: /^[\d.]+$|:/.test(value) ? 'ip' : 'dns', value }) as const);
    return this.#issue('runtime', names, x509.ExtendedKeyUsage.serverAuth);
  }

  issueWorker(identity: WorkerIdentity): Promise<TlsCredentials> {
    return this.#issue(
      'function worker',
      [{ type: 'url', value: workerUri(identity) }],
      x509.ExtendedKeyUsage.clientAuth,
    );
  }

  async #issue(
    name: string,
    names: ConstructorParameters<typeof x509.SubjectAlternativeNameExtension>[0],
    usage: x509.ExtendedKeyUsage,
  ): Promise<TlsCredentials> {
    const keys = await generateKeys();
    const certificate = await x509.X509CertificateGenerator.create({
      ...validity(certificateDays),
      serialNumber: serial(),
      subject: `CN=Drover ${name}`,
      issuer: this.#certificate.subject,
      publicKey: keys.publicKey,
      signingKey: this.#keys.privateKey,
      signingAlgorithm: algorithm,
      extensions: [
        new x509.BasicConstraintsExtension(false),
        new x509.KeyUsagesExtension(x509.KeyUsageFlags.digitalSignature, true),
        new x509.ExtendedKeyUsageExtension([usage]),
        new x509.SubjectAlternativeNameExtension(names),
      ],
    });
    return { key: await toPem(keys.privateKey), cert: certificate.toString('pem'), ca: this.ca };
  }
}

async function generateKeys(): Promise<webcrypto.CryptoKeyPair> {
  return await webcrypto.subtle.generateKey(algorithm, true, ['sign', 'verify']);
}

async function toPem(key: webcrypto.CryptoKey): Promise<string> {
  return x509.PemConverter.encode(await webcrypto.subtle.exportKey('pkcs8', key), 'PRIVATE KEY');
}

function validity(days: number): { readonly notBefore: Date; readonly notAfter: Date } {
  const now = Date.now();
  return { notBefore: new Date(now - earlierMs), notAfter: new Date(now + days * dayMs) };
}

/** A random positive serial number. */
function serial(): string {
  const bytes = randomBytes(16);
  bytes[0] = (bytes[0] ?? 0) & 0x7f;
  return bytes.toString('hex');
}
