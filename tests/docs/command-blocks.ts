/** A block of commands in a document, and what the document says about running it. */
export interface CommandBlock {
  readonly document: string;
  /** Line of the document at which the block begins, from 1. */
  readonly line: number;
  readonly commands: string;
  /** The JSON block that follows at once: what the last command prints. `…` stands for any text. */
  readonly prints: unknown;
  readonly mark: BlockMark;
}

export type BlockMark =
  /** `tests/stories/documented-commands.test.ts` runs it. */
  | { readonly kind: 'run here' }
  /** Another test reads the document and runs it. */
  | { readonly kind: 'run by'; readonly file: string }
  | { readonly kind: 'not run'; readonly reason: string };

/** Documents whose blocks `tests/stories/documented-commands.test.ts` runs, each from top to bottom. */
export const executedDocuments: readonly string[] = [
  'README.md',
  'docs/functions-api.md',
  'docs/collections.md',
  'examples/local-handlers/README.md',
  'apps/cli/README.md',
  'apps/runtime/README.md',
];

/** Why a block may be left out, and what must be true of it then. */
export const reasonsNotToRun: Readonly<Record<string, (commands: string) => boolean>> = {
  'it runs the tests themselves': (commands) => /^npm (?:ci && npm )?test$|vitest run/m.test(commands),
  'it measures for minutes': (commands) => /npm run (?:bench|chaos):/.test(commands),
  'it needs a PostgreSQL of yours': (commands) => commands.includes('DATABASE_URL=postgres://'),
  'a host starts it, with a port that it chose': (commands) => commands.includes('PORT'),
  'the platform of this page is running already': (commands) => / npm start$/m.test(commands),
  'it needs another machine': (commands) => /<[a-z-]+>|HOST/.test(commands),
};

const fence =
  /^(?:<!-- (?<mark>.+?) -->\n)?```(?<language>\w*)\n(?<body>[^]*?)^```$(?:\n\n```json\n(?<prints>[^]*?)^```$)?/gm;
const shells = new Set(['sh', 'bash', 'shell', 'console']);
const command = /^(?:\$ )?(?:[A-Z_]+=\S+ )*(?:npm|npx|node|curl|drover|git|docker|helm|kubectl)\b/m;

/** Returns the blocks of commands in a document. A block without a language that looks like commands is one, too. */
export function commandBlocks(document: string, text: string): CommandBlock[] {
  return [...text.matchAll(fence)].flatMap((match) => {
    const { mark, language = '', body = '', prints } = match.groups ?? {};
    if (!shells.has(language) && !(language === '' && command.test(body))) return [];
    return [
      {
        document,
        line: text.slice(0, match.index).split('\n').length,
        commands: body,
        prints: prints === undefined ? undefined : (JSON.parse(prints) as unknown),
        mark: readMark(mark),
      },
    ];
  });
}

function readMark(mark = ''): BlockMark {
  const [, file] = /^run by (\S+)$/.exec(mark) ?? [];
  if (file !== undefined) return { kind: 'run by', file };
  const [, reason] = /^not run: (.+)$/.exec(mark) ?? [];
  return reason === undefined ? { kind: 'run here' } : { kind: 'not run', reason };
}

/** What is wrong with the mark of a block; undefined if nothing is. `read` returns a file of the repository. */
export function problemOf(
  { document, line, commands, mark }: CommandBlock,
  read: (file: string) => string | undefined,
): string | undefined {
  const where = `${document}:${line}`;
  switch (mark.kind) {
    case 'run here':
      return executedDocuments.includes(document) ? undefined : `${where} is run by no test. Run it, or mark why not.`;
    case 'run by':
      return read(mark.file)?.includes(document) ? undefined : `${where}: ${mark.file} does not read ${document}.`;
    case 'not run': {
      const isTrue = reasonsNotToRun[mark.reason];
      if (!isTrue) return `${where}: "${mark.reason}" is not a reason of tests/docs/command-blocks.ts.`;
      return isTrue(commands) ? undefined : `${where}: "${mark.reason}" is not true of this block.`;
    }
  }
}

/** Whether what a command printed has all that the document shows. `…` stands for any text. */
export function isShown(expected: unknown, actual: unknown): boolean {
  if (typeof expected === 'string' && expected.includes('…')) return typeof actual === 'string';
  if (Array.isArray(expected))
    return Array.isArray(actual) && expected.every((item, index) => isShown(item, actual[index]));
  if (typeof expected !== 'object' || expected === null) return Object.is(expected, actual);
  if (typeof actual !== 'object' || actual === null) return false;
  const values = new Map<string, unknown>(Object.entries(actual));
  return Object.entries(expected).every(([name, value]) => values.has(name) && isShown(value, values.get(name)));
}
