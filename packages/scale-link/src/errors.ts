import { defineError } from '@drover/contracts';

export const scaleLinkPortUnusable = defineError<{
  readonly host: string;
  readonly port: number;
  readonly reason: string;
}>('SCALE_LINK_PORT_UNUSABLE', {
  fault: 'platform',
  retryable: false,
  status: 500,
  help: 'The scale controller cannot listen for runtimes at this address: another process uses the port, or the address is not one of this machine. Without TLS it must be a loopback address. Change DROVER_SCALE_LINK_PORT or DROVER_SCALE_LINK_HOST.',
  message: ({ host, port, reason }) =>
    `The scale link cannot listen on ${host}:${port} (${reason}). Change DROVER_SCALE_LINK_PORT or DROVER_SCALE_LINK_HOST.`,
});

export const scaleLinkCredentialsUnreadable = defineError<{ readonly directory: string; readonly reason: string }>(
  'SCALE_LINK_CREDENTIALS_UNREADABLE',
  {
    fault: 'platform',
    retryable: false,
    status: 500,
    help: 'The directory of DROVER_SCALE_LINK_TLS_DIR must contain tls.key, tls.crt and ca.crt in PEM, as a TLS secret of Kubernetes does.',
    message: ({ directory, reason }) =>
      `The certificate of the scale link in ${directory} cannot be read: ${reason}. Put tls.key, tls.crt and ca.crt there.`,
  },
);

export const scaleLinkErrors = { scaleLinkPortUnusable, scaleLinkCredentialsUnreadable };
