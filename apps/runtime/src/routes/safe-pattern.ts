import { RE2JS } from 're2js';

/** Together with RE2's own limit on repeats, these bound the cost of one match. */
const maxSourceLength = 1_000;
const maxTextLength = 256;

/**
 * Compiles the pattern of a `regex()` route constraint. RE2 matches in time linear to the length of the text, so no request can
 * make a route hang; it refuses look-around and back-references, which need backtracking. As in ASP.NET routes, case is ignored
 * and the pattern may match anywhere. A text of more than 256 characters does not match.
 */
export function compilePattern(
  source: string,
): { readonly matches: (text: string) => boolean } | { readonly problem: string } {
  if (source.length > maxSourceLength) return { problem: `is longer than ${maxSourceLength} characters` };
  try {
    const pattern = RE2JS.compile(fromDotNet(source), RE2JS.CASE_INSENSITIVE);
    return { matches: (text) => text.length <= maxTextLength && pattern.test(text) };
  } catch (error) {
    const reason = error instanceof Error ? error.message.replace(/^error parsing regexp: /, '') : String(error);
    return { problem: `cannot be used in a route: ${reason}` };
  }
}

/** Rewrites the two escapes of .NET that RE2 spells differently: `\Z` and `\uXXXX`. */
function fromDotNet(source: string): string {
  return source.replaceAll(/\\(?:Z|u([0-9A-Fa-f]{4})|[^])/g, (escape, digits: string | undefined) => {
    if (digits !== undefined) return `\\x{${digits}}`;
    return escape === '\\Z' ? '\\z' : escape;
  });
}
