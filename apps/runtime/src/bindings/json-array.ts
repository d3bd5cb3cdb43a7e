/** Returns the source texts of the elements of a JSON array, so that numbers beyond double precision keep their digits. */
export function splitJsonArray(validJson: string): readonly string[] {
  const elements: string[] = [];
  const end = validJson.lastIndexOf(']');
  let start = validJson.indexOf('[') + 1;
  let depth = 0;
  for (let at = start; at <= end; at += 1) {
    switch (validJson[at]) {
      case '"':
        at = endOfString(validJson, at);
        break;
      case '[':
      case '{':
        depth += 1;
        break;
      case ',':
        if (depth > 0) break;
        elements.push(validJson.slice(start, at).trim());
        start = at + 1;
        break;
      case ']':
      case '}':
        depth -= 1;
        break;
      default:
    }
  }
  const last = validJson.slice(start, end).trim();
  return last === '' && elements.length === 0 ? [] : [...elements, last];
}

function endOfString(json: string, start: number): number {
  let at = start + 1;
  while (json[at] !== '"') at += json[at] === '\\' ? 2 : 1;
  return at;
}
