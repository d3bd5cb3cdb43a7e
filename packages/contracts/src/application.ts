import Type, { type Static } from 'typebox';
import { literalUnion } from './literal-union.js';

/** Also a label of instances and a part of URLs, so it has the limits of both. */
export const applicationNamePattern = '^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$';

export const ApplicationName = Type.String({
  pattern: applicationNamePattern,
  maxLength: 63,
  description: 'A letter or digit, then up to 62 letters, digits, dots, underscores and hyphens',
});

/** Returns the name of an application whose folder has that name, as far as names of applications may have its characters. */
export function applicationNameOfFolder(folderName: string): string {
  const name = folderName.replaceAll(/[^A-Za-z0-9._-]/g, '-');
  return (/^[A-Za-z0-9]/.test(name) ? name : `app${name}`).slice(0, 63);
}

export const ApplicationVersionName = Type.String({
  pattern: '^c[0-9a-f]{16}$',
  maxLength: 17,
  description: 'Version of the code: a hash of its files and settings',
});

export const PayloadDigest = Type.String({
  pattern: '^[0-9a-f]{64}$',
  maxLength: 64,
  description: 'SHA-256 of the unpacked files',
});

export const ScaleSettings = Type.Object(
  {
    minWorkers: Type.Optional(
      Type.Integer({ minimum: 0, maximum: 1_000, description: 'Workers that always run; 0 by default' }),
    ),
    maxWorkers: Type.Optional(Type.Integer({ minimum: 1, maximum: 1_000, description: 'Most workers at a time' })),
    idleMs: Type.Optional(
      Type.Integer({
        minimum: 1_000,
        maximum: 86_400_000,
        description: 'Idle time after which the last worker ends; 5 minutes by default',
      }),
    ),
    isPredictive: Type.Optional(
      Type.Boolean({ description: 'Whether workers start ahead of the usual demand; true by default' }),
    ),
  },
  { additionalProperties: false, description: 'Bounds of scaling; what is absent has the default of the platform' },
);
export type ScaleSettings = Static<typeof ScaleSettings>;

export const RollbackPolicy = Type.Object(
  {
    isEnabled: Type.Optional(Type.Boolean({ description: 'Whether a bad version loses its traffic; true by default' })),
    maxErrorPercent: Type.Optional(
      Type.Number({
        minimum: 0,
        maximum: 100,
        description: 'Failed calls of a new version, in percent; 25 by default',
      }),
    ),
    maxLatencyFactor: Type.Optional(
      Type.Number({
        minimum: 1,
        maximum: 1_000,
        description: '95th percentile of a new version as a multiple of the one before; 4 by default',
      }),
    ),
    minCalls: Type.Optional(
      Type.Integer({ minimum: 1, maximum: 100_000, description: 'Calls before a version is judged; 20 by default' }),
    ),
    watchMs: Type.Optional(
      Type.Integer({
        minimum: 1_000,
        maximum: 86_400_000,
        description: 'How long a version is watched after it got traffic; 10 minutes by default',
      }),
    ),
  },
  { additionalProperties: false, description: 'When a new version loses its traffic to the one before it' },
);
export type RollbackPolicy = Static<typeof RollbackPolicy>;

export const TrafficShares = Type.Record(ApplicationVersionName, Type.Integer({ minimum: 0, maximum: 100 }), {
  description: 'Percent by version; the sum is 100',
});
export type TrafficShares = Static<typeof TrafficShares>;

/** Application settings: environment variables of the functions. Stored encrypted. */
export const ApplicationSettings = Type.Record(
  Type.String({ pattern: '^[A-Za-z_][A-Za-z0-9_.:-]{0,254}$' }),
  Type.String({ maxLength: 32_768, pattern: '^[^\\u0000]*$' }),
  {
    additionalProperties: false,
    maxProperties: 1_000,
    description: 'Settings by name, stored encrypted. The value `[secret]` stands for that of the newest version',
  },
);

export const NewApplicationVersion = Type.Object(
  {
    payload: Type.Optional(PayloadDigest),
    directory: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: 4_096,
        pattern: '^/[^\\u0000-\\u001f\\u007f]*$',
        description:
          'Absolute path of a folder on the machine of the platform, in place of `payload`. It is not copied',
      }),
    ),
    settings: Type.Optional(ApplicationSettings),
    trafficPercent: Type.Optional(
      Type.Integer({
        minimum: 0,
        maximum: 100,
        default: 100,
        description:
          'Share of the new version; the others keep the rest in their proportion. The first version gets all',
      }),
    ),
    scaling: Type.Optional(ScaleSettings),
    rollback: Type.Optional(RollbackPolicy),
  },
  { additionalProperties: false },
);
export type NewApplicationVersion = Static<typeof NewApplicationVersion>;

const VersionSource = Type.Union([
  Type.Object({ kind: Type.Literal('payload'), digest: PayloadDigest, bytes: Type.Integer() }),
  Type.Object({ kind: Type.Literal('folder'), directory: Type.String(), isWatched: Type.Boolean() }),
]);

const instant = (description: string) => Type.String({ format: 'date-time', description });

export const ApplicationVersionView = Type.Object({
  version: ApplicationVersionName,
  metadataVersion: Type.String({
    description: 'Version of triggers and bindings: versions that share it can split traffic',
  }),
  trafficPercent: Type.Integer(),
  source: VersionSource,
  functions: Type.Array(Type.Object({ name: Type.String(), trigger: Type.String(), isDisabled: Type.Boolean() })),
  problems: Type.Array(Type.Object({ functionName: Type.String(), problem: Type.String() }), {
    description: 'Functions that do not run, each with the reason; only in folders that are watched',
  }),
  settingNames: Type.Array(Type.String(), { description: 'Names of its settings; values are never shown' }),
  deployedAt: instant('Time of its last deployment'),
  isRolledBack: Type.Boolean({
    description: 'It lost its traffic by a roll back; deploy or promote it to use it again',
  }),
});
export type ApplicationVersionView = Static<typeof ApplicationVersionView>;

/** What changed the traffic of an application. */
export const applicationChangeKinds = ['deployed', 'traffic', 'rolled-back', 'rolled-back-automatically'] as const;
export type ApplicationChangeKind = (typeof applicationChangeKinds)[number];

export const ApplicationView = Type.Object({
  name: ApplicationName,
  state: literalUnion(['active', 'deleting'], {
    description: 'deleting: it accepts no calls and is removed when nothing runs any more',
  }),
  generation: Type.Integer({ description: 'Grows with every change' }),
  versions: Type.Array(ApplicationVersionView, { description: 'Oldest deployment first' }),
  traffic: TrafficShares,
  scaling: ScaleSettings,
  rollback: RollbackPolicy,
});
export type ApplicationView = Static<typeof ApplicationView>;

export const ApplicationChangeView = Type.Object({
  generation: Type.Integer(),
  at: instant('Time of the change'),
  kind: literalUnion(applicationChangeKinds),
  traffic: TrafficShares,
  reason: Type.String({ description: 'Why the traffic changed' }),
});
export type ApplicationChangeView = Static<typeof ApplicationChangeView>;

export const UploadedPayload = Type.Object({
  payload: PayloadDigest,
  bytes: Type.Integer({ description: 'Size of the unpacked files' }),
  files: Type.Integer(),
});
export type UploadedPayload = Static<typeof UploadedPayload>;
