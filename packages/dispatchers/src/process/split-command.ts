/** Splits a command at its spaces, quotes and backslashes respected; nothing in it is expanded, and no shell sees it. */
export function splitCommand(text: string): { readonly words: readonly string[] } | { readonly problem: string } {
  const words: string[] = [];
  let word: string | undefined;
  let quote: string | undefined;
  for (let at = 0; at < text.length; at += 1) {
    const char = text.charAt(at);
    if (char === '\\' && quote !== "'" && at + 1 < text.length) {
      at += 1;
      word = (word ?? '') + text.charAt(at);
    } else if (quote === undefined ? char === '"' || char === "'" : char === quote) {
      quote = quote === undefined ? char : undefined;
      word ??= ''; // quotes with nothing between them are a word, too
    } else if (quote === undefined && /\s/.test(char)) {
      if (word !== undefined) words.push(word);
      word = undefined;
    } else word = (word ?? '') + char;
  }
  if (quote !== undefined) return { problem: `runtimeCommand has a ${quote} that is never closed` };
  if (word !== undefined) words.push(word);
  return words[0] ? { words } : { problem: 'runtimeCommand names no program' };
}
