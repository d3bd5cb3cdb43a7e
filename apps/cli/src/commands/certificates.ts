import { existsSync } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { defaultTenantId } from '@drover/contracts';
import { storedAuthority } from '@drover/runtime';

interface CertificateFlags {
  readonly app?: string;
  readonly dataDir?: string;
  readonly certificates?: string;
  readonly out?: string;
  readonly json?: boolean;
}

/** Issues the certificate of a function worker and writes its three files, which only this user can read. */
export async function makeWorkerCertificate(
  workerId: string,
  flags: CertificateFlags,
  host: NodeJS.Process,
): Promise<void> {
  if (!/^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$/.test(workerId))
    throw new Error(
      `The worker id "${workerId}" is invalid. Use at most 128 letters, digits, dots, dashes and underscores.`,
    );
  const authority = await storedAuthority(authorityDirectory(flags, host));
  const applicationKey = flags.app === undefined ? undefined : `${defaultTenantId}/${flags.app}`;
  const { key, cert, ca } = await authority.issueWorker({ tenantId: defaultTenantId, applicationKey, workerId });
  const out = path.resolve(flags.out ?? '.');
  await mkdir(out, { recursive: true });
  const files = {
    key: path.join(out, `${workerId}.key.pem`),
    cert: path.join(out, `${workerId}.cert.pem`),
    ca: path.join(out, `${workerId}.ca.pem`),
  };
  await writeFile(files.key, String(key), { mode: 0o600 });
  await writeFile(files.cert, String(cert), { mode: 0o600 });
  await writeFile(files.ca, String(ca), { mode: 0o600 });
  if (flags.json) host.stdout.write(`${JSON.stringify({ workerId, application: flags.app, ...files })}\n`);
  else host.stdout.write(explain(workerId, flags.app, files));
}

/** Throws if there is no authority: a certificate of a new one would be refused by every runtime. */
function authorityDirectory({ dataDir, certificates }: CertificateFlags, { env }: NodeJS.Process): string {
  const data = path.resolve(dataDir ?? env['DROVER_DATA_DIR'] ?? '.drover');
  const own = dataDir === undefined ? env['DROVER_CERTIFICATES_DIR'] : undefined;
  const directory = path.resolve(certificates ?? own ?? path.join(data, 'certificates'));
  if (existsSync(path.join(directory, 'authority.json'))) return directory;
  throw new Error(
    `The directory ${directory} has no certificate authority. Start the runtime once, which creates it, or name another directory with --data-dir or --certificates.`,
  );
}

function explain(
  workerId: string,
  app: string | undefined,
  { key, cert, ca }: { readonly key: string; readonly cert: string; readonly ca: string },
): string {
  return `The certificate of worker ${workerId}${app === undefined ? '' : ` for ${app}`} is valid for 90 days. Copy the three files to the machine of the worker and start it there:

  export DROVER_WORKER_KEY=${key}
  export DROVER_WORKER_CERT=${cert}
  export DROVER_WORKER_CA=${ca}
  node node-worker.js --functions-uri https://HOST:PORT/ --functions-worker-id ${workerId} --functions-request-id ${workerId} --functions-grpc-max-message-length 134217728

HOST and PORT are DROVER_RPC_HOST and DROVER_RPC_PORT of the runtime; DROVER_RPC_NAMES must contain HOST. The app must have the same path there.
`;
}
