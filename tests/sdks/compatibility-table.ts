import type { SuiteResult } from './run-suite.js';

const begin = '<!-- made by `npm run test:sdks` -->';
const end = '<!-- end of the table -->';

/** Renders the table of SDKs that work with the emulators. */
export function renderCompatibility(results: readonly SuiteResult[]): string {
  const rows = results.map(({ language, sdk, service, passed, failed }) => {
    const checks = `${passed.length} of ${passed.length + failed.length}`;
    const problems = failed.length === 0 ? '' : `; fails: ${failed.map((line) => line.split(':')[0]).join(', ')}`;
    return `| ${language} | \`${sdk}\` | ${service} | ${checks}${problems} |`;
  });
  return ['| language | SDK | service | checks passed |', '|---|---|---|---|', ...rows].join('\n');
}

/** Puts the table between its markers in a page. Throws if the page has none. */
export function withCompatibility(page: string, table: string): string {
  const [from, to] = [page.indexOf(begin), page.indexOf(end)];
  if (from < 0 || to < from)
    throw new Error(`The page lacks the lines "${begin}" and "${end}". Add them where the table belongs.`);
  return `${page.slice(0, from + begin.length)}\n${table}\n${page.slice(to)}`;
}
