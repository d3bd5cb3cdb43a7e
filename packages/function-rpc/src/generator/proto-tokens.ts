/** A word, a string or a sign, with the comment lines directly above it. */
export interface Token {
  readonly text: string;
  readonly line: number;
  readonly doc: string;
}

const pattern = /\/\/[ \t]?(.*)|"([^"\n]*)"|[\w.]+|[{}()<>=;,]|\S/g;

/** The words of a .proto file. */
export function tokenize(source: string): Token[] {
  const tokens: Token[] = [];
  let comment: string[] = [];
  let commentLine = 0;
  for (const [lineIndex, text] of source.split('\n').entries()) {
    for (const [word, commented, quoted] of text.matchAll(pattern)) {
      if (commented !== undefined) {
        if (!text.trimStart().startsWith('//')) continue; // behind something, and not about what follows
        if (commentLine !== lineIndex - 1) comment = [];
        comment.push(commented);
        commentLine = lineIndex;
        continue;
      }
      const doc = commentLine === lineIndex - 1 ? comment.join(' ') : '';
      comment = [];
      tokens.push({ text: quoted ?? word, line: lineIndex + 1, doc });
    }
  }
  return tokens;
}

/** Walks over tokens and says where it stands when something else was expected. */
export class TokenStream {
  readonly #tokens: readonly Token[];
  #at = 0;

  constructor(source: string) {
    this.#tokens = tokenize(source);
  }

  get done(): boolean {
    return this.#at >= this.#tokens.length;
  }

  next(): Token {
    const token = this.#tokens[this.#at++];
    if (!token) throw new Error('the file ends too early');
    return token;
  }

  /** Takes the next token if it is this one. */
  take(text: string): boolean {
    if (this.#tokens[this.#at]?.text !== text) return false;
    this.#at++;
    return true;
  }

  expect(text: string): void {
    const token = this.next();
    if (token.text !== text) throw new Error(`line ${token.line}: expected ${text}, found ${token.text}`);
  }

  number(): number {
    const token = this.next();
    if (!/^\d+$/.test(token.text)) throw new Error(`line ${token.line}: expected a number, found ${token.text}`);
    return Number(token.text);
  }
}
