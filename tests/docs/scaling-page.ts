import {
  defaultPoolPolicy,
  defaultScalePolicy,
  otherSourceTarget,
  policyTexts,
  scalingClamps,
  scalingRules,
  seedRules,
  sourceTargets,
  type ScalePolicy,
} from '@drover/scale-controller';
import { scoreAll, type TraceResult, type TraceScore } from '@drover/scale-controller/testing';

/** Paragraphs of docs/scaling.md: text around tables and diagrams that are made from the data of the scale controller. */
export function scalingPage(): readonly string[] {
  return [
    'How many function workers an application has, and why. The scale controller decides each second, and at once when an event finds no worker. ' +
      'Deciding is a pure function of numbers (`apps/scale-controller/src/decisions`): the same facts give the same decision, so that every recorded decision can be made again.',
    '`GET /v1/apps/{app}/scaling`, or `drover scaling APP`, answers "why do I have 3 workers?" with the last decisions: what each rule wanted, what bounded it, and all facts.',
    diagram(),
    '## Rules',
    'Each rule proposes a number. **For more workers the largest proposal wins; for fewer, all have to agree.** A rule whose metric is not known has no opinion. ' +
      'A rule between its two conditions keeps as many workers as it needs to stay there. The rows of seed 000:',
    rulesTable((rule) => rule in seedRules),
    'Rules that compute a number:',
    rulesTable((rule) => !(rule in seedRules)),
    '## Targets per source',
    'One worker is expected to take so much of a backlog, unless `host.json` of the application says otherwise. Several triggers are summed before rounding.',
    targetsTable(),
    '## Bounds',
    'What the rules want passes these bounds, in this order:',
    clampsTable(),
    ...prose(),
    '## Settings',
    'An application sets `minWorkers`, `maxWorkers`, `idleMs` and `isPredictive` (`PUT /v1/apps/{app}/scaling`, or `scaling` of its deployment). All of them:',
    policyTable(),
    '## Compared with others',
    'The same arrivals under the formulas of the Kubernetes HPA (on concurrency, at least one pod), KEDA (polls each 30 s at zero) and Knative KPA, with invocations of 200 ms, ' +
      'four at a time per worker, and workers that start in one second, at most 20. Simulated, so the figures say nothing about the speed of the programs. ' +
      'A miss waited longer than 1 s (queue: 30 s; sparse and office hours: 0.5 s).',
    scoresTable(scoreAll()),
    'Drover keeps workers for longer than KPA does, because lasting demand counts for five minutes; that is what its fewer misses cost. Rare events of the sparse trace are cold until eight idle times are known.',
  ];
}

function diagram(): string {
  const rules = Object.entries(scalingRules).map(([id, { metric }]) => `    ${node(id)}["${id}: ${metric}"]`);
  const clamps = Object.keys(scalingClamps);
  const chain = ['largest', ...clamps.map((clamp) => `clamp_${node(clamp)}["${clamp}"]`), 'number'].join(' --> ');
  return [
    '```mermaid',
    'flowchart LR',
    '  sample["samples of runtimes, each second"] --> facts',
    '  wake["event without a worker"] --> facts',
    '  facts["facts: windows, means, forecast"] --> rules',
    '  subgraph rules["rules"]',
    ...rules,
    '  end',
    '  rules --> largest["largest proposal"]',
    `  ${chain}`,
    '  number["desired workers"] --> record["record: facts, proposals, bounds"]',
    '```',
  ].join('\n');
}

const node = (id: string): string => id.replaceAll('-', '_');

function rulesTable(isShown: (rule: string) => boolean): string {
  const rows = Object.entries(scalingRules)
    .filter(([id]) => isShown(id))
    .map(([id, { metric, up, down, size }]) => `| \`${id}\` | ${metric} | ${up} | ${down} | ${size} |`);
  return ['| rule | metric | more workers | fewer workers | how many |', '|---|---|---|---|---|', ...rows].join('\n');
}

function targetsTable(): string {
  const rows = [...sourceTargets, ['other', otherSourceTarget] as const].map(
    ([type, { perWorker, from, splitsPartitions }]) =>
      `| \`${type}\` | ${perWorker} | ${from}${splitsPartitions ? '; workers are rounded up to an even split of partitions' : ''} |`,
  );
  return ['| source | per worker | from |', '|---|---|---|', ...rows].join('\n');
}

function clampsTable(): string {
  const rows = Object.entries(scalingClamps).map(([id, { about }], index) => `| ${index + 1} | \`${id}\` | ${about} |`);
  return ['| | bound | what it does |', '|---|---|---|', ...rows].join('\n');
}

function policyTable(): string {
  // The record of texts has a key for every setting, and no other.
  const names = Object.keys(policyTexts) as (keyof ScalePolicy)[];
  const rows = names.map((name) => `| \`${name}\` | ${settingText(defaultScalePolicy[name])} | ${policyTexts[name]} |`);
  return ['| setting | default | what it does |', '|---|---|---|', ...rows].join('\n');
}

function settingText(value: ScalePolicy[keyof ScalePolicy]): string {
  if (typeof value !== 'object') return String(value);
  const step =
    value.factor < 1 ? `down to min(× ${value.factor}, − ${value.add})` : `max(× ${value.factor}, + ${value.add})`;
  return `${step} in ${value.periodMs / 1_000} s`;
}

/** What tables cannot say. */
function prose(): readonly string[] {
  const { minPlaceholders, maxPlaceholders, quantile } = defaultPoolPolicy;
  return [
    '## From zero and back',
    'An application at zero has no worker. Its first event reaches the controller as a request, not by polling, and the same decision starts a worker. ' +
      'Workers end when nothing arrived, ran or waited for `idleMs`; all of them at once. While a trigger cannot be measured the idle time stands still: unknown is not zero.',
    '## Functions that compute',
    'A function that computes keeps the event loop of its worker from turning, so that a worker runs one call at a time. The runtime learns how fast each worker begins calls; one that takes 5 ms or more gets only those that it begins within 20 ms, ' +
      'and the others wait in the runtime, where the next free or new worker takes them. What a worker takes is reported to the controller, which plans with it. A worker that waits for others, a database or an API, gets all its slots. ' +
      'This needs a worker that reads its messages in order and answers status requests between them, as Node.js workers do. Of others the concurrency is learned from latency: it falls while calls take longer in proportion to their number and workers need CPU, and rises again slowly. ' +
      'Growth stops at the number of calls that could run, and at what the cores of the machine can feed.',
    '## Windows',
    'Demand is measured over a stable window of 60 s and a panic window of 6 s. When the short one wants twice the ready workers, or listeners are paused, growth may happen each second and nothing is given up ' +
      'until a stable window has passed without cause. What only works off a backlog is kept for one stable window; lasting demand, the arrivals of about a minute, is kept for five minutes.',
    '## Forecast',
    'Sizes are for the moment at which a worker that is asked for now is ready. Two sources: the slope of arrivals, and the same hour on the days before (of the week, as soon as there is one), if 60 % of the days agree. ' +
      'Each is used only while its error is not larger than that of "as now" or "as in the hour before". For rare events the last 24 idle times tell when the next one is due: a worker is started shortly before the 5th percentile and kept until the 99th. ' +
      '`isPredictive: false` switches all of it off.',
    '## Tenants',
    'Every application is decided about alone. If the sum is above the ceiling of a tenant or of the platform, tenants share by weighted max-min: small wishes are granted in full, the others get equal parts by weight. Minimums are never taken; placeholders are given up first.',
    '## Placeholders',
    `The pool holds as many placeholders as are taken within one replenish time in ${quantile * 100} % of the cases, by the mean rate (Poisson) and by the peaks of the last half hour, between ${minPlaceholders} and ${maxPlaceholders}. ` +
      'A cold start because the pool was empty raises the target at once; it decays with a half-life of ten minutes. A placeholder is used once, for one tenant, and replaced after 15 to 30 minutes.',
  ];
}

function scoresTable(results: readonly TraceResult[]): string {
  const names = Object.keys(results[0]?.scores ?? {});
  const cell = ({ coldStarts, instanceSeconds, misses }: TraceScore): string =>
    `${whole(misses)} / ${whole(coldStarts)} / ${whole(instanceSeconds)}`;
  const rows = results.map(({ trace, scores }) => {
    const cells = names.map((name) => (scores[name] ? cell(scores[name]) : '–'));
    return `| **${trace.name}**: ${trace.about} | ${cells.join(' | ')} |`;
  });
  return [
    `| misses / cold starts / instance-seconds | ${names.join(' | ')} |`,
    `|---|${names.map(() => '---').join('|')}|`,
    ...rows,
  ].join('\n');
}

const whole = (value: number): string => value.toLocaleString('en');
