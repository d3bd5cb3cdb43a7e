/** Whether a file or folder is left out, by its path with forward slashes. */
export type IsIgnored = (path: string, isFolder: boolean) => boolean;

interface IgnorePattern {
  readonly matches: RegExp;
  readonly isForFolders: boolean;
  readonly isNegated: boolean;
}

/** Reads a file with patterns in the format of `.gitignore`, such as `.funcignore`. The last pattern that matches decides. */
export function parseIgnoreFile(text: string): IsIgnored {
  const patterns = text.split(/\r?\n/).flatMap((line) => parsePattern(line) ?? []);
  return (path, isFolder) =>
    patterns.findLast(({ matches, isForFolders }) => (isFolder || !isForFolders) && matches.test(path))?.isNegated ===
    false;
}

function parsePattern(line: string): IgnorePattern | undefined {
  const text = line.replace(/(?<!\\)\s+$/, '');
  if (text === '' || text.startsWith('#')) return undefined;
  const isNegated = text.startsWith('!');
  const pattern = isNegated ? text.slice(1) : text.replace(/^\\(?=[!#])/, '');
  const isForFolders = pattern.endsWith('/');
  const body = pattern.replace(/\/+$/, '');
  if (body === '') return undefined;
  // A pattern with a slash inside is meant from the root; one without matches at any depth.
  const isFromRoot = body.includes('/');
  const matches = compile(`^${isFromRoot ? '' : '(?:.*/)?'}${toRegExp(body.replace(/^\//, ''))}$`);
  return matches && { matches, isForFolders, isNegated };
}

/** Returns undefined for a set of characters that is none, such as `[z-a]`: git leaves such a pattern out, too. */
function compile(source: string): RegExp | undefined {
  try {
    return new RegExp(source);
  } catch {
    return undefined;
  }
}

const globParts = /\\.|\/\*\*\/|^\*\*\/|\/\*\*$|\*+|\?|\[(!?)([^\]]+)\]|[.+^${}()|[\]\\]/g;

function toRegExp(glob: string): string {
  return glob.replaceAll(globParts, (part: string, not: string | undefined, set: string | undefined) => {
    switch (part) {
      case '/**/':
        return '/(?:.*/)?';
      case '**/':
        return '(?:.*/)?';
      case '/**':
        return '/.*';
      case '?':
        return '[^/]';
      default:
        if (part.startsWith('*')) return '[^/]*';
        if (set !== undefined) return `[${not ? '^' : ''}${set.replaceAll('\\', '\\\\')}]`;
        return `\\${part.at(-1)}`;
    }
  });
}
