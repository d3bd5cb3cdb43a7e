/** A string, a comment, or a comma that only white space and comments separate from a closing bracket. */
const pieces = /"(?:[^"\\]|\\.)*"|\/\/[^\n\r]*|\/\*[\s\S]*?\*\/|,(?=(?:\s|\/\/[^\n\r]*|\/\*[\s\S]*?\*\/)*[\]}])/g;

/**
 * Parses JSON with comments and trailing commas, as Microsoft's own `Config.json` has them. What is left out becomes blanks, so
 * that the positions in an error message stay right. Throws as JSON.parse does.
 */
export function parseJsonWithComments(text: string): unknown {
  const plain = text
    .replace(/^\uFEFF/, '')
    .replace(pieces, (piece) => (piece.startsWith('"') ? piece : piece.replace(/[^\n\r]/g, ' ')));
  return JSON.parse(plain);
}
