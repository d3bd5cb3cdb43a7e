/** A key, its certificate chain, and the authorities that sign the certificates of peers, as PEM. */
export interface TlsCredentials {
  readonly key: string | Buffer;
  readonly cert: string | Buffer;
  readonly ca: string | Buffer | readonly (string | Buffer)[];
}
