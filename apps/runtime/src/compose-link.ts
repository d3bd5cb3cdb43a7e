import { isDebugged, programOptionsOf } from '@drover/instance-provider';
import { openScaleLink, readTlsDirectory, ScaleLinkClient } from '@drover/scale-link';
import type { Lifecycle } from '@drover/service-kit';
import type { RuntimeIo, WorkerEndpoint, WorkerSide } from './compose-workers.js';
import { scaleLinkUrls, type RuntimeConfig } from './config.js';
import type { HostedApplications } from './hosting/hosted-applications.js';
import { LinkCommands } from './scale-link/link-commands.js';
import { LinkedWorkers } from './scale-link/linked-workers.js';
import { SampleLoop } from './scale-link/sample-loop.js';
import type { Specializer } from './specialization/specializer.js';

/** The link to the scale controller, and the workers that it starts. */
interface ComposedLink {
  readonly client: ScaleLinkClient;
  readonly workers: LinkedWorkers;
}

/** Returns undefined for a runtime that starts its workers itself. */
export function composeScaleLink(
  config: RuntimeConfig,
  { clock, randomness, observe }: RuntimeIo,
  { registry }: WorkerEndpoint,
): ComposedLink | undefined {
  const { scaleLinkToken: token, scaleLinkTlsDir } = config;
  const urls = scaleLinkUrls(config);
  if (urls.length === 0 || !token) return undefined;
  const client = new ScaleLinkClient({
    open: urls.map((url) => async (signal) => {
      // Read for each connection: certificates are renewed while the runtime runs.
      const isEncrypted = url.startsWith('https:') && scaleLinkTlsDir !== undefined;
      const tls = isEncrypted ? await readTlsDirectory(scaleLinkTlsDir) : undefined;
      return await openScaleLink({ url, token, tls }, signal);
    }),
    onDetached: (reason, isPlanned) => observe({ kind: 'link.detached', reason, isPlanned }),
    onUnreachable: (reason, failures) => observe({ kind: 'link.unreachable', reason, failures }),
    clock,
    randomness,
  });
  return { client, workers: new LinkedWorkers({ link: client, registry, observe }) };
}

interface LinkedParts {
  readonly config: RuntimeConfig;
  /** The part of the environment that workers get too. */
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly io: RuntimeIo;
  readonly side: WorkerSide;
  readonly specializer: Specializer;
  readonly hosted: HostedApplications;
  /** Known once the HTTP server listens. */
  readonly functionsUrl: () => string;
  readonly memory: () => number;
}

/** Takes commands and sends samples. The parts must start after everything that the commands act on. */
export function serveScaleLink(
  { client, workers }: ComposedLink,
  { config, environment, io, side, specializer, hosted, functionsUrl, memory }: LinkedParts,
): readonly Lifecycle[] {
  const { registry, admission, lifecycle, listeners } = side;
  const incarnation = io.randomness.uuid();
  client.serve(
    new LinkCommands({
      ...io,
      runtimeId: config.runtimeId ?? `runtime-${incarnation}`,
      incarnation,
      areDebugged: isDebugged(programOptionsOf(environment)),
      addresses: () => ({ endpoint: listeners.loopback, functionsUrl: functionsUrl() }),
      link: client,
      workers,
      applications: hosted,
      registry,
      admission,
      lifecycle,
      specializer,
    }),
  );
  const samples = new SampleLoop({ ...io, link: client, sample: (signal) => hosted.sample(signal), memory });
  return [client, samples];
}
