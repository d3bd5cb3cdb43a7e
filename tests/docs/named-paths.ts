import path from 'node:path';

/** What a document names, and where that is looked for. */
export interface NamedPath {
  readonly text: string;
  /** From the root of the repository; one of these must exist. `*` stands for any part of a name. */
  readonly candidates: readonly string[];
}

const topFolders = /^(?:apps|packages|tests|bench|docs|examples|deploy|\.ci)\//;
const sourceFile = /^[\w.*-]+\.(?:ts|sql|proto)$/;

/**
 * Returns the paths in backticks and links of a document, code blocks left out. In backticks a path begins with a folder at the
 * root (`packages/event-bus`), with `src/` or `test/` (of the package that the document describes), or with the name of another
 * app or package (`runtime/workers`, below its `src`); or it is the bare name of a source file, which may be anywhere. The ending
 * `.ts` may be left out after a folder.
 */
export function namedPaths(document: string, text: string, workspaces: readonly string[]): NamedPath[] {
  const folder = path.posix.dirname(document);
  const prose = text.replaceAll(/^```[^]*?^```/gm, '');
  const links = [...prose.matchAll(/\]\(([^)#\s]+)[^)]*\)/g)]
    .flatMap(([, target = '']) => target)
    .filter((target) => !/^\w+:/.test(target))
    .map((target) => ({ text: target, candidates: [path.posix.join(folder, target)] }));
  const quoted = [...prose.matchAll(/`([^`\s]+)`/g)].flatMap(([, token = '']) => {
    const candidates = candidatesOf(token.replace(/\/$/, ''), folder, workspaces);
    return candidates.length === 0 ? [] : [{ text: token, candidates }];
  });
  return [...links, ...quoted];
}

function candidatesOf(token: string, folder: string, workspaces: readonly string[]): string[] {
  if (!/^[\w.*@/-]+$/.test(token)) return [];
  if (topFolders.test(token)) return [token, `${token}.ts`];
  if (/^(?:src|test)\//.test(token)) return [path.posix.join(folder, token), path.posix.join(folder, `${token}.ts`)];
  if (sourceFile.test(token)) return [token, `**/${token}`];
  const [first = '', ...rest] = token.split('/');
  const owner = workspaces.find((workspace) => path.posix.basename(workspace) === first);
  if (owner === undefined || rest.length === 0 || owner === folder) return []; // with its own name it says how to import it
  const below = rest.join('/');
  return [`${owner}/src/${below}`, `${owner}/src/${below}.ts`, `${owner}/${below}`];
}

/** Those that are neither a file nor a folder of the repository. */
export function missingPaths(named: readonly NamedPath[], files: readonly string[]): string[] {
  const folders = new Set(files.flatMap((file) => parentsOf(file)));
  const known = new Set([...files, ...folders]);
  const exists = (candidate: string): boolean => {
    if (!candidate.includes('*')) return known.has(candidate) || candidate === '.';
    const pattern = candidate
      .replaceAll(/[.+^${}()|[\]\\]/g, '\\$&')
      .replaceAll(/\*\*\/|\*/g, (stars) => (stars === '*' ? '[^/]*' : '(?:.*/)?'));
    const expression = new RegExp(`^${pattern}$`);
    return [...known].some((file) => expression.test(file));
  };
  return named.filter(({ candidates }) => !candidates.some(exists)).map(({ text }) => text);
}

function parentsOf(file: string): string[] {
  const parent = path.posix.dirname(file);
  return parent === '.' ? [] : [parent, ...parentsOf(parent)];
}
