import { applicationCatalogErrors } from '@drover/application-catalog';
import { upErrors, upReaders, upVariables } from '@drover/cli';
import { accessErrors, collectionEngineErrors } from '@drover/collection-engine';
import {
  collectionWorkerErrors,
  collectionWorkerReaders,
  collectionWorkerVariables,
  membershipMetrics,
} from '@drover/collection-worker';
import {
  catalogueToMarkdown,
  contractErrors,
  defineStates,
  errorCatalogue,
  executionStates,
  functionQueueStates,
  statesToMermaid,
  topics,
  type States,
} from '@drover/contracts';
import {
  assignmentErrors,
  assignmentMetrics,
  assignmentStates,
  collectionWorkerStates,
  controlPlaneErrors,
  controlPlaneReaders,
  controlPlaneVariables,
  callbackErrors,
  failedChangeErrors,
  webhookErrors,
  collectionApiErrors,
  deploymentErrors,
  functionErrors,
  engineMetrics,
  invocationErrors,
  liveExecutionStates,
  replicaErrors,
  routeClashErrors,
} from '@drover/control-plane';
import {
  databaseErrors,
  dedicatedConnectionStates,
  embeddedPostgresErrors,
  embeddedPostgresStates,
} from '@drover/database';
import { breakerStates, endpointErrors, functionsUserErrors, localErrors } from '@drover/dispatchers';
import { subscriptionStates } from '@drover/event-bus';
import { executionErrors } from '@drover/execution-store';
import { eventStreamStates } from '@drover/function-rpc';
import {
  collectionFrontMetrics,
  collectionFrontReaders,
  endpointStates,
  gatewayErrors,
  gatewayProcessVariables,
  gatewayReaders,
} from '@drover/gateway';
import { edgeErrors, requestMetrics } from '@drover/http-edge';
import { instanceErrors, instanceStates, processHostReaders } from '@drover/instance-provider';
import { hostConnectionStates, nodeWorkerVariables } from '@drover/node-worker';
import { partitionStates, replicaStates } from '@drover/ownership';
import {
  applicationErrors,
  bindingErrors,
  emulatorEndpointStates,
  functionWorkerStates,
  httpErrors,
  indexingErrors,
  hostedJobHostStates,
  jobHostStates,
  runtimeErrors,
  runtimeReaders,
  runtimeVariables,
  scaleLinkCommandErrors,
} from '@drover/runtime';
import {
  leadershipStates,
  placedWorkerStates,
  placementMetrics,
  scaleControllerErrors,
  scaleControllerReaders,
  scaleControllerVariables,
} from '@drover/scale-controller';
import { scaleLinkErrors } from '@drover/scale-link';
import {
  kitErrors,
  processStates,
  processVariables,
  supervisedProcessStates,
  variablesToMarkdown,
  type Metric,
  type Reader,
} from '@drover/service-kit';
import {
  eventGridListenerStates,
  eventHubListenerStates,
  partitionPumpStates,
  blobListenerStates,
  queueListenerStates,
  queueMessageStates,
  serviceBusListenerStates,
  timerListenerStates,
  collectionListenerStates,
  serviceBusMessageStates,
  triggerSourceErrors,
  watchedSourceStates,
} from '@drover/trigger-sources';
import { poolWorkerStates, workerStates } from '@drover/isolated-workers';
import { apiPage } from './api-page.js';
import { collectionsPage } from './collections-page.js';
import { scalingPage } from './scaling-page.js';

const notice = '<!-- Made from the code by `npm run docs`; a test compares the two. -->';

/** The documents that are made from the code, by file name. */
export const documents: Readonly<Record<string, () => string>> = {
  'docs/collections-reference.md': () => page('Reference of collections', ...collectionsPage()),
  'docs/configuration.md': configuration,
  'docs/errors.md': errors,
  'docs/metrics.md': metrics,
  'docs/scaling.md': () => page('Scaling', ...scalingPage()),
  'docs/states.md': states,
  'docs/topics.md': topicList,
  'packages/isolated-workers/docs/api.md': () =>
    page('API of @drover/isolated-workers', ...apiPage('packages/isolated-workers')),
};

function page(title: string, ...paragraphs: readonly string[]): string {
  return `${[notice, `# ${title}`, ...paragraphs].join('\n\n')}\n`;
}

function configuration(): string {
  return page(
    'Configuration',
    'Every process reads its environment once, at start, and lists all mistakes together. A variable that is empty counts as unset. Secrets may be kept in files: `NAME_FILE` names the file.',
    '## Every process',
    variablesToMarkdown(processVariables),
    '## `drover control-plane`',
    variablesToMarkdown(controlPlaneVariables),
    '## `drover runtime`',
    variablesToMarkdown(runtimeVariables),
    '## `drover scale-controller`',
    variablesToMarkdown(scaleControllerVariables),
    '## `drover collection-worker`',
    variablesToMarkdown(collectionWorkerVariables),
    '## `drover gateway`',
    'In `drover up` the gateway is a part of the platform process: the variables from `DROVER_CORS_ORIGINS` on are also its own there.',
    variablesToMarkdown(gatewayProcessVariables),
    '## Function worker for Node.js',
    'Its own command line is the official one. Beside that:',
    tableOf(nodeWorkerVariables),
    '## `drover up`',
    'Takes all of the above and hands it on, and:',
    variablesToMarkdown({
      dataDir: upVariables.dataDir,
      postgresUser: upVariables.postgresUser,
      connectionHandoff: upVariables.connectionHandoff,
      collectionWorkers: upVariables.collectionWorkers,
    }),
    '## Commands that talk to a running platform',
    '| variable | value | default | what it does |\n|---|---|---|---|\n| `DROVER_URL` | an http or https URL | – | Where the platform serves. Unset: `credentials.json` of the data directory has it. |\n| `DROVER_API_KEY` | text, kept secret | – | The key to come with. |',
  );
}

/** The worker has no configuration of our kind: it must start fast and bring no dependency into an app's process. */
function tableOf(
  variables: readonly { name: string; about: string; expects: string; defaultText?: string | undefined }[],
): string {
  const rows = variables.map(
    ({ name, about, expects, defaultText = '–' }) => `| \`${name}\` | ${expects} | ${defaultText} | ${about} |`,
  );
  return ['| variable | value | default | what it does |', '|---|---|---|---|', ...rows].join('\n');
}

function errors(): string {
  const groups = [
    contractErrors,
    kitErrors,
    scaleLinkErrors,
    scaleControllerErrors,
    scaleLinkCommandErrors,
    indexingErrors,
    databaseErrors,
    embeddedPostgresErrors,
    accessErrors,
    collectionEngineErrors,
    collectionWorkerErrors,
    controlPlaneErrors,
    functionErrors,
    callbackErrors,
    failedChangeErrors,
    webhookErrors,
    invocationErrors,
    executionErrors,
    applicationCatalogErrors,
    deploymentErrors,
    collectionApiErrors,
    assignmentErrors,
    routeClashErrors,
    endpointErrors,
    functionsUserErrors,
    localErrors,
    replicaErrors,
    edgeErrors,
    gatewayErrors,
    runtimeErrors,
    applicationErrors,
    bindingErrors,
    httpErrors,
    triggerSourceErrors,
    instanceErrors,
    upErrors,
  ];
  return page(
    'Errors',
    'An error is known by its code, in logs, in answers and on the command line; codes are never reused. Answers have the shape `{"error": code, "message", "requestId", "details"?}`. What is the platform\'s own fault shows no more than its code there; the log has the rest under the request id.',
    catalogueToMarkdown(errorCatalogue(groups)),
    'Unexpected errors are answered with `INTERNAL_ERROR` and status 500.',
  );
}

interface MetricRow {
  readonly type: string;
  readonly help: string;
  readonly labels: readonly string[];
}

function metrics(): string {
  const rows = new Map<string, MetricRow>();
  for (const readers of [
    controlPlaneReaders,
    collectionWorkerReaders,
    collectionFrontReaders,
    gatewayReaders,
    scaleControllerReaders,
    runtimeReaders,
    upReaders,
    processHostReaders,
  ]) {
    for (const reader of Object.values<Reader<never>>(readers)) {
      for (const metric of reader.metrics ?? ([] as readonly Metric<never>[])) {
        rows.set(metric.name, { type: metric.type, help: metric.help, labels: metric.labelNames });
      }
    }
  }
  for (const { name, type, help, labelNames } of [
    ...engineMetrics(noValues),
    ...requestMetrics(noValues),
    ...membershipMetrics(noValues),
    ...assignmentMetrics(noValues),
    ...collectionFrontMetrics(noValues),
    placementMetrics(noValues),
  ])
    rows.set(name, { type, help, labels: labelNames });
  const table = [...rows]
    .toSorted(([a], [b]) => a.localeCompare(b))
    .map(
      ([name, { type, help, labels }]) =>
        `| \`${name}\` | ${type} | ${labels.map((label) => `\`${label}\``).join(', ') || '–'} | ${help} |`,
    );
  return page(
    'Metrics',
    '`/metrics` has them in Prometheus text, each with a label `process`, beside the usual figures of a Node.js process (`process_*`, `nodejs_*`).\n\nMetrics of functions (`function_*`) appear with the first event of their function, are in seconds, and stay on a replica after the function moved to another one, so sum them over replicas. The first 500 functions of a replica have histograms with eight buckets, further ones with sum and count only. Names that end in `_ms` repeat them in milliseconds, as nanoFaaS names them: sum and count of the first 500 functions. A page with 10,000 functions has 18 MB. It is written in slices of a few milliseconds, so that calls go on meanwhile.',
    ['| name | type | labels | what it counts |', '|---|---|---|---|', ...table].join('\n'),
  );
}

/** Stands for the source of the values, which are never read here: only the definitions are. */
function noValues(): never {
  throw new Error('there is no engine in a document');
}

function states(): string {
  const machines: readonly States<string>[] = [
    processStates,
    supervisedProcessStates,
    instanceStates,
    leadershipStates,
    placedWorkerStates,
    emulatorEndpointStates,
    embeddedPostgresStates,
    dedicatedConnectionStates,
    subscriptionStates,
    endpointStates,
    executionStates,
    functionQueueStates,
    liveExecutionStates,
    replicaStates,
    partitionStates,
    collectionWorkerStates,
    assignmentStates,
    breakerStates,
    functionWorkerStates,
    hostedJobHostStates,
    jobHostStates,
    queueListenerStates,
    blobListenerStates,
    queueMessageStates,
    eventHubListenerStates,
    partitionPumpStates,
    timerListenerStates,
    collectionListenerStates,
    watchedSourceStates,
    eventGridListenerStates,
    serviceBusListenerStates,
    serviceBusMessageStates,
    eventStreamStates,
    hostConnectionStates,
    defineStates('isolated worker', workerStates), // that package stands alone and has a table of its own
    defineStates('isolated worker of a pool', poolWorkerStates),
  ] as readonly States<string>[]; // a table of machines with different states
  return page(
    'State machines',
    'Each is a table in the code; what holds in a state stands above that table.',
    ...machines.flatMap((machine) => [`## ${machine.name}`, `\`\`\`mermaid\n${statesToMermaid(machine)}\n\`\`\``]),
  );
}

function topicList(): string {
  const rows = topics.map((topic) => {
    const { properties = {} } = topic.schema as { properties?: Record<string, unknown> };
    return `| \`${topic.name}\` | ${topic.about} | ${Object.keys(properties)
      .map((name) => `\`${name}\``)
      .join(', ')} |`;
  });
  return page(
    'Topics',
    'What travels on the event bus.',
    ['| topic | what happened | payload |', '|---|---|---|', ...rows].join('\n'),
  );
}
