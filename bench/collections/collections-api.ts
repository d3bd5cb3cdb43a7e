import type { CollectionDefinition } from '@drover/contracts';

/** The last line of the answer of an import. */
interface ImportEnd {
  readonly kind: string;
  readonly created: number;
  readonly rejected: number;
}

/** What the suite does with collections before and beside the loads. */
export class CollectionsApi {
  readonly #platform: URL;
  readonly #worker: URL;
  readonly #headers: Readonly<Record<string, string>>;

  /** Definitions are of the platform, records of the worker. */
  constructor(urls: { readonly platform: string; readonly worker: string }, headers: Readonly<Record<string, string>>) {
    this.#platform = new URL(urls.platform);
    this.#worker = new URL(urls.worker);
    this.#headers = headers;
  }

  async define(definition: CollectionDefinition): Promise<void> {
    const response = await fetch(new URL('/control/collections', this.#platform), {
      method: 'POST',
      headers: { ...this.#headers, 'content-type': 'application/json' },
      body: JSON.stringify(definition),
    });
    await expectStatus(response, 201);
  }

  async remove(name: string): Promise<void> {
    const url = new URL(`/control/collections/${name}`, this.#platform);
    await expectStatus(await fetch(url, { method: 'DELETE', headers: this.#headers }), 204);
  }

  /** `through`: the platform has the gateway. */
  async listStatus(name: string, through: 'platform' | 'worker'): Promise<number> {
    const base = through === 'platform' ? this.#platform : this.#worker;
    const response = await fetch(new URL(`/api/${name}?page[size]=1`, base), { headers: this.#headers });
    await response.arrayBuffer();
    return response.status;
  }

  async import(name: string, file: Buffer, mediaType: string): Promise<ImportEnd> {
    const response = await fetch(new URL(`/api/${name}/import`, this.#worker), {
      method: 'POST',
      headers: { ...this.#headers, 'content-type': mediaType },
      body: file,
    });
    const lines = (await expectStatus(response, 200)).trim().split('\n');
    const end = JSON.parse(lines.at(-1) ?? '{}') as ImportEnd;
    if (end.kind !== 'done' || end.rejected > 0) throw new Error(`the import failed: ${lines.slice(-3).join('\n')}`);
    return end;
  }
}

async function expectStatus(response: Response, status: number): Promise<string> {
  const text = await response.text();
  if (response.status !== status) throw new Error(`${response.url} answered ${response.status}: ${text}`);
  return text;
}
