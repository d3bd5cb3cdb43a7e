import path from 'node:path';

/** A command and its arguments; `{cache}` in them is the directory of the suite. */
export type CommandLine = readonly [command: string, ...args: readonly string[]];

/** Checks of one SDK: a small program, the files it is made of, and how it is got, built and run. */
export interface SdkSuite {
  readonly language: string;
  /** As the table names it, with its version. */
  readonly sdk: string;
  readonly service: 'Service Bus' | 'Event Hubs' | 'AMQP';
  /** The SDK knows neither plain AMQP nor other ports: it connects to localhost:5671 with TLS. */
  readonly tlsPort?: boolean;
  /** Suites with the same folder share what was fetched and built. */
  readonly folder: string;
  /** Source files, below `tests/sdks`; copied into the cache. */
  readonly sources: readonly string[];
  /** Fetches and builds. Done once for each version. */
  readonly prepare: readonly CommandLine[];
  readonly run: CommandLine;
}

const versions = {
  pythonServiceBus: '7.15.0',
  pythonEventHubs: '5.15.1',
  proton: '0.40.0',
  goServiceBus: '1.11.0',
  goEventHubs: '2.0.2',
  javaServiceBus: '7.17.17',
  javaEventHubs: '5.21.3',
  fe2o3: '0.13',
};

const python = ['python/checks.py', 'python/service_bus.py', 'python/event_hubs.py', 'python/proton_client.py'];
const preparePython: readonly CommandLine[] = [
  ['python3', '-m', 'venv', '{cache}/venv'],
  [
    '{cache}/venv/bin/pip',
    'install',
    '--quiet',
    `azure-servicebus==${versions.pythonServiceBus}`,
    `azure-eventhub==${versions.pythonEventHubs}`,
    `python-qpid-proton==${versions.proton}`,
  ],
];
const pythonSuite = (sdk: string, service: SdkSuite['service'], program: string): SdkSuite => ({
  language: 'Python',
  sdk,
  service,
  folder: `python-${versions.pythonServiceBus}-${versions.pythonEventHubs}-${versions.proton}`,
  sources: python,
  prepare: preparePython,
  run: ['{cache}/venv/bin/python', `{cache}/${program}`],
});

const goModule = 'github.com/Azure/azure-sdk-for-go/sdk/messaging';
const goSuite = (sdk: string, service: SdkSuite['service'], argument: string): SdkSuite => ({
  language: 'Go',
  sdk,
  service,
  folder: `go-${versions.goServiceBus}-${versions.goEventHubs}`,
  sources: ['go/go.mod', 'go/main.go'],
  prepare: [
    [
      'go',
      'get',
      `${goModule}/azservicebus@v${versions.goServiceBus}`,
      `${goModule}/azeventhubs/v2@v${versions.goEventHubs}`,
    ],
    ['go', 'build', '-o', 'checks', '.'],
  ],
  run: ['{cache}/checks', argument],
});

const javaSuite = (sdk: string, service: SdkSuite['service'], argument: string): SdkSuite => ({
  language: 'Java',
  sdk,
  service,
  folder: `java-${versions.javaServiceBus}-${versions.javaEventHubs}`,
  sources: ['java/pom.xml', 'java/Checks.java'],
  prepare: [
    ['mvn', '--quiet', '--batch-mode', 'dependency:copy-dependencies', '-DoutputDirectory=lib'],
    ['javac', '-cp', 'lib/*', '-d', 'classes', 'Checks.java'],
  ],
  run: ['java', '-cp', ['{cache}/classes', '{cache}/lib/*'].join(path.delimiter), 'Checks', argument],
});

/** Older majors and minors than the ones that our own tests use. */
const oldJavaScript = [
  { serviceBus: '7.9.0', eventHubs: '5.12.2', tlsPort: true },
  { serviceBus: '7.9.4', eventHubs: '5.11.4', tlsPort: false },
] as const;

function javaScriptSuites({ serviceBus, eventHubs, tlsPort }: (typeof oldJavaScript)[number]): readonly SdkSuite[] {
  const packages = [`@azure/service-bus@${serviceBus}`, `@azure/event-hubs@${eventHubs}`] as const;
  const shared = {
    language: 'JavaScript',
    folder: `javascript-${serviceBus}-${eventHubs}`,
    sources: ['javascript/checks.mjs'],
    prepare: [['npm', 'install', '--silent', '--no-audit', '--no-fund', '--prefix', '{cache}', ...packages] as const],
  };
  return [
    {
      ...shared,
      sdk: `@azure/service-bus ${serviceBus}`,
      service: 'Service Bus',
      tlsPort,
      run: ['node', '{cache}/checks.mjs', 'service-bus'],
    },
    {
      ...shared,
      sdk: `@azure/event-hubs ${eventHubs}`,
      service: 'Event Hubs',
      run: ['node', '{cache}/checks.mjs', 'event-hubs'],
    },
  ];
}

export const sdkSuites: readonly SdkSuite[] = [
  pythonSuite(`azure-servicebus ${versions.pythonServiceBus}`, 'Service Bus', 'service_bus.py'),
  pythonSuite(`azure-eventhub ${versions.pythonEventHubs}`, 'Event Hubs', 'event_hubs.py'),
  pythonSuite(`python-qpid-proton ${versions.proton}`, 'AMQP', 'proton_client.py'),
  goSuite(`azservicebus ${versions.goServiceBus}`, 'Service Bus', 'service-bus'),
  goSuite(`azeventhubs/v2 ${versions.goEventHubs}`, 'Event Hubs', 'event-hubs'),
  javaSuite(`azure-messaging-servicebus ${versions.javaServiceBus}`, 'Service Bus', 'service-bus'),
  javaSuite(`azure-messaging-eventhubs ${versions.javaEventHubs}`, 'Event Hubs', 'event-hubs'),
  {
    language: 'Rust',
    sdk: `fe2o3-amqp ${versions.fe2o3}`,
    service: 'AMQP',
    folder: `rust-${versions.fe2o3}`,
    sources: ['rust/Cargo.toml', 'rust/src/main.rs'],
    prepare: [['cargo', 'build', '--quiet']],
    run: ['{cache}/target/debug/drover-sdk-checks'],
  },
  ...oldJavaScript.flatMap(javaScriptSuites),
];
