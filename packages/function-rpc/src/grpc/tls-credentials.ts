/** A key and its certificate chain, and who signs the certificates of peers; each as PEM. */
export interface TlsCredentials {
  readonly key: string | Buffer;
  readonly cert: string | Buffer;
  readonly ca: string | Buffer | readonly (string | Buffer)[];
}
